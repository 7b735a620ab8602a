"""The steps of a pipeline in one worker: their classes, instances and parameters.

Parameters change in two moves, so that all workers change at the same frame: `prepare` lets copies of the
instances configure themselves, `use` takes over what these have assigned.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.processing.describe import Plot, check
from penstock.processing.processor import Processor
from penstock.processing.series import Series
from penstock.processing.wire import Parameter, Step
from penstock.processing.worker import loading, parameters
from penstock.processing.worker.configuring import Changes, Instances, Refusal, configured, made, name_of

log = logging.getLogger(__name__)


def named(kind: type[Processor], label: str) -> type[Processor]:
    """Return a class like this one, whose results, errors and axes have a name before theirs: `NAME_I`.

    Args:
        kind: the class of a step.
        label: the step's name; "" leaves the class as it is.
    """
    if not label:
        return kind
    members: dict[str, Any] = {"__module__": kind.__module__, "_label": label}

    def describe(self: Any) -> Sequence[Plot] | None:
        found = kind.describe(self)
        return found and [_plot(plot, label) for plot in found]

    def process(self: Any, frame: Any) -> Any:
        return _prefixed(kind.process(self, frame), label)

    def process_batch(self: Any, frames: Any) -> Any:
        found = kind.process_batch(self, frames)
        return [_prefixed(each, label) for each in found] if isinstance(found, Sequence) else found

    def finish(self: Any, totals: Mapping[str, Any]) -> Any:
        own = {name.removeprefix(f"{label}_"): value for name, value in totals.items() if _is_of(name, label)}
        return _prefixed(kind.finish(self, own), label)

    members["describe"] = describe
    # What a class does not define is not defined here: whoever looks takes it for Processor's.
    for method in (process, process_batch, finish):
        if getattr(kind, method.__name__) is not getattr(Processor, method.__name__):
            members[method.__name__] = method
    return type(f"{kind.__name__} ({label})", (kind,), members)


def _is_of(name: str, label: str) -> bool:
    return name.startswith(f"{label}_")


def _prefixed(result: Any, label: str) -> Any:
    """Return results under their names with the step's before them; what is no mapping stays as it is."""
    if not isinstance(result, Mapping):
        return result
    return {f"{label}_{name}" if isinstance(name, str) else name: value for name, value in result.items()}


def _plot(plot: Any, label: str) -> Any:
    if not isinstance(plot, Plot):
        return plot
    return replace(
        plot, signal=f"{label}_{plot.signal}", errors=plot.errors and f"{label}_{plot.errors}",
        axes=tuple(replace(axis, name=f"{label}_{axis.name}") for axis in plot.axes), step=label,
    )  # fmt: skip


class Chain:
    """The steps, one after the other.

    Args:
        steps: their classes, as they came with `Welcome`.

    Raises:
        LoadingError: a class cannot be loaded.
        ParameterError: one of its parameters cannot be one.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.kinds = [named(loading.load(step), step.label) for step in steps]
        self.files = set().union(
            *(loading.files_of(step, kind) for step, kind in zip(steps, self.kinds, strict=True))
        )
        """The user's files, as they stand in tracebacks."""
        self.described: tuple[Parameter, ...] = parameters.described(self.kinds)
        self.batch = max(kind.batch if is_batch(kind) else 1 for kind in self.kinds)
        """Frames that are processed together; 1 if no step takes several."""
        self.batch_seconds = min((kind.batch_seconds for kind in self.kinds if is_batch(kind)), default=0.0)
        # A lone name is a text, which would be taken for a list of letters.
        needs = [[kind.needs] if isinstance(kind.needs, str) else kind.needs for kind in self.kinds]
        self.needs = tuple(dict.fromkeys(name for names in needs for name in names))
        """Names of channels whose values come with the frames."""
        self.ordered = any(kind.ordered for kind in self.kinds)
        self.preparation_text = next((kind.preparation for kind in self.kinds if kind.preparation), "")
        """What `start` does, for the status."""
        self.finishes = any(kind.finish is not Processor.finish for kind in self.kinds)
        """True if one of them makes results of the series as a whole."""
        self.version = -1
        """Version of the parameters in use; -1: none are yet."""
        self._values: list[Changes] = [{} for _ in self.kinds]
        self._prepared: dict[int, list[Changes]] = {}
        """Values that were prepared, by version."""
        self._spare: Instances | None = None
        """Instances for the next series, configured."""
        self._running: dict[int, Instances] = {}

    @property
    def names(self) -> str:
        """The names of the classes, for sentences."""
        return ", ".join(kind.__name__ for kind in self.kinds)

    def prepare(self, version: int, values: Mapping[str, Any]) -> None:
        """Check parameters and let the steps configure themselves, without any effect yet.

        Raises:
            ParameterError: a value is not taken.
            Refusal: `configure` of a step has raised.
        """
        preparation = self.preparation(version, values)
        preparation.run()
        self.take(preparation)

    def preparation(self, version: int, values: Mapping[str, Any]) -> Preparation:
        """Return what `prepare` does, in two parts: `run`, which may take long, in any thread; then `take`.

        Raises:
            ParameterError: a value is not taken.
        """
        return Preparation(self, version, parameters.split(self.kinds, values), self._every)

    def take(self, preparation: Preparation) -> None:
        """Take what was prepared.

        Raises:
            Refusal: `configure` of a step has raised.
        """
        if preparation.refusal is not None:
            raise preparation.refusal
        if self._spare is None:
            self._spare = preparation.spare
        for each, changes in preparation.found.items():
            if each.has_begun == (each in preparation.begun):
                each.prepared[preparation.version] = changes
        self._prepared[preparation.version] = preparation.split

    def use(self, version: int) -> dict[int, str]:
        """Use prepared parameters from now on; those of earlier versions are forgotten.

        Returns:
            Sentences by series: of those that have begun since, and whose steps refuse these parameters.

        Raises:
            Refusal: these parameters were not prepared.
        """
        if version not in self._prepared:
            raise Refusal(f"version {version} of the parameters was not prepared")
        self._values = self._prepared[version]
        self._prepared = {later: each for later, each in self._prepared.items() if later > version}
        self.version = version
        refused: dict[int, str] = {}
        for each in self._every:
            try:
                if (changes := each.prepared.get(version)) is None:
                    changes = configured(each.steps, self._values, self.files)
            except Refusal as error:
                refused |= {series: str(error) for series, other in self._running.items() if other is each}
                self._spare = None if each is self._spare else self._spare
                continue
            each.prepared = {later: other for later, other in each.prepared.items() if later > version}
            for step, changed in zip(each.steps, changes, strict=True):
                for note in set(changed.get("_notes", ())) - set(step._notes):
                    log.info("parameters of version %d: %s", version, note)
                vars(step).update(changed)
        return refused

    def begin(self, number: int, series: Series) -> list[Processor]:
        """Return the instances for a series, started.

        Args:
            number: the distributor's number of the series.
            series: the series.

        Raises:
            Refusal: a step has raised.
        """
        instances, self._spare = self._spare or Instances(made(self.kinds, self._values, self.files)), None
        # What was prepared without a series is not what `configure` makes within one: `use` calls it again.
        instances.has_begun, instances.prepared = True, {}
        self._running[number] = instances
        for instance in instances.steps:
            try:
                instance.start(series)
            except BaseException as error:
                raise Refusal(f"{name_of(instance)}.start: {self.sentence(error)}") from None
        return instances.steps

    def describe(self, steps: Sequence[Processor]) -> tuple[Plot, ...]:
        """Return what the results of these instances, which have started, mean.

        Raises:
            Refusal: a step has raised, or its descriptions cannot be used.
        """
        found: list[Plot] = []
        for step in steps:
            try:
                found += step.describe() or ()
                check(found)
            except BaseException as error:
                raise Refusal(f"{name_of(step)}.describe: {self.sentence(error)}") from None
        return check(found)

    def end(self, number: int) -> None:
        """End a series: let its instances end, and forget them."""
        instances = self._running.pop(number, None)
        for instance in () if instances is None else instances.steps:
            try:
                instance.end()
            except BaseException as error:
                log.warning("%s.end: %s", name_of(instance), self.sentence(error))

    def leave(self) -> None:
        """End all series."""
        for number in list(self._running):
            self.end(number)

    def sentence(self, error: BaseException) -> str:
        """Return the last line of a traceback, with the line of the user's code."""
        return loading.sentence(error, self.files)

    @property
    def _every(self) -> list[Instances]:
        return [*self._running.values(), *([] if self._spare is None else [self._spare])]

    @property
    def values(self) -> list[Changes]:
        """The parameters of each step in use; those that are prepared are not yet."""
        return self._values


class Preparation:
    """New parameters that steps prepare for, beside the frames that they process.

    Args:
        chain: of the steps.
        version: of the parameters.
        split: all parameters of each step.
        instances: those that there are now.
    """

    def __init__(
        self, chain: Chain, version: int, split: list[Changes], instances: Sequence[Instances]
    ) -> None:
        self.version = version
        self.split = split
        self.found: dict[Instances, list[Changes]] = {}
        """What `configure` of the copies has assigned."""
        self.spare: Instances | None = None
        """New instances, if there were none."""
        self.refusal: Refusal | None = None
        self.is_done = False
        self.begun = frozenset(each for each in instances if each.has_begun)
        """Instances that had a series when this was asked for: `start` has run, and does not run
        meanwhile."""
        self._chain = chain
        self._instances = instances

    def run(self) -> None:
        """Call `configure`; the instances in use stay as they are."""
        chain = self._chain
        try:
            if chain.version < 0:
                self.spare = Instances(made(chain.kinds, self.split, chain.files))
                self.found = {self.spare: [{} for _ in self.split]}
            else:
                if not self._instances:
                    self.spare = Instances(made(chain.kinds, chain.values, chain.files))
                    self._instances = [self.spare]
                self.found = {
                    each: configured(each.steps, self.split, chain.files) for each in self._instances
                }
        except Refusal as error:
            self.refusal = error
        self.is_done = True


def is_batch(kind: type[Processor]) -> bool:
    """Return whether a class takes several frames at once."""
    return kind.process_batch is not Processor.process_batch
