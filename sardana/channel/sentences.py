"""Sentences that scans and macros share."""

from __future__ import annotations


def in_use(detector: str, armed_by: str, status: str) -> str:
    """Return the sentence about somebody else's series, or the channel's own from before a restart."""
    return (
        f"{detector} runs a series of somebody else, or one from before a restart of the Pool, armed by "
        f"{armed_by or 'an unknown client'}: {status} Stop it there, or send the command Stop to {detector}"
    )


def no_files(detector: str, channel: str) -> str:
    """Return the refusal if a file is wanted from a detector that writes none."""
    return (
        f"{detector} writes no files, because its SaveRaw is false; set it to true (det_setup {channel} "
        "SaveRaw true)"
    )


def not_answering(detector: str, why: str = "") -> str:
    """Return the sentence for a detector whose server is away."""
    return (
        f"the detector device {detector} does not answer{f' ({why})' if why else ''}; is its server running?"
    )
