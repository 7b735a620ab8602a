"""`processor: pvapy:FILE.py:CLASS`: a processor class of PvaPy's streaming framework, as it is.

It gets what a consumer of PvaPy gives it: an NTNDArray per frame, `configDict`, and something to publish with
(PvaPy 5.6, `pvapy/hpc/userDataProcessor.py` and `dataProcessingController.py`). There is no server, no
channel and no network: what it publishes are results.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from penstock.processing.processor import CannotProcess, Frame, Processor, Result
from penstock.processing.processors._image import image_of
from penstock.processing.series import Series

try:
    import pvaccess
    from pvapy.hpc.userDataProcessor import UserDataProcessor
    from pvapy.utility.adImageUtility import AdImageUtility
except ModuleNotFoundError:
    pvaccess = None

log = logging.getLogger(__name__)

CHANNEL = "penstock"
"""Name of the input and output channel, which do not exist."""
ID_FIELD = "uniqueId"
MOST_OUTPUTS = 16
"""Objects that a class may publish per frame: each has results of its own."""
IMAGE, COUNT = "image", "output_count"
_NAME = re.compile(r"[^A-Za-z0-9_]+")
_NO_ATTRIBUTES = ("ColorMode",)
_OTHER_TYPES = {np.dtype(bool): np.uint8, np.dtype(np.float16): np.float32}
"""Types of pixels that an NTNDArray does not have."""


class _Publisher:
    """What a class publishes with: it collects what is published for one frame."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []

    def updateOutputChannel(self, pv_object: Any) -> None:
        """Take an object as it is now: the class may change it afterwards."""
        self.outputs.append(_values(pv_object))


class _NotHere:
    """Stands for what PvaPy gives a class and is not here: whoever uses it is told so.

    Many classes catch exceptions, so that the use is remembered, too.

    Args:
        what: it is, and the remedy; a sentence.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_used = False

    def refuse(self, *_args: Any) -> Any:
        """Say that it is not here.

        Raises:
            CannotProcess: always.
        """
        self.is_used = True
        raise CannotProcess(self.what)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.refuse()

    __iter__ = __len__ = __contains__ = __getitem__ = refuse

    def __bool__(self) -> bool:
        return True


class PvapyProcessor(Processor):
    """A processor of PvaPy behind our interface; `adapted` derives one for each class."""

    wraps: ClassVar[type[Any]]
    """PvaPy's class."""

    config: dict[str, Any] = {}
    """`configDict`, which its constructor gets, and its `configure` when it changes."""
    images: bool = True
    """True if the images that it publishes are kept, one per frame."""

    _made: Any = None

    def configure(self) -> None:
        """Give changed values to the class before its next frame."""
        self._news: dict[str, Any] | None = dict(self.config)

    def start(self, series: Series) -> None:
        """Make an object of the class, and start it, as a consumer does."""
        self._series = series
        self._news = None
        self._publisher = _Publisher()
        self._template: tuple[Any, str] | None = None
        self._known: tuple[tuple[int, ...], np.dtype[Any]] | None = None
        made = self._made = self.wraps(dict(self.config))
        made.processorId = os.getpid()
        made.objectIdField = ID_FIELD
        made.inputChannel = made.outputChannel = CHANNEL
        name = self.wraps.__name__
        made.pvaServer, made.metadataQueueMap = self._not_here = (
            _NotHere(
                f"{name} uses pvaServer, and there is no server and no channel of PvaPy: publish by "
                "updateOutputChannel, whose objects are results"
            ),
            _NotHere(
                f"{name} uses metadataQueueMap, and there are no metadata channels of PvaPy: list their "
                "values as channels in the pipeline's file, which are stored beside the results of each "
                "frame, and take that out of the class"
            ),
        )
        made.dataPublisher = self._publisher
        made.start()
        self._check_use()

    def process(self, frame: Frame) -> Result:
        """Let the class process one NTNDArray; return what it has published.

        Results of the first object are called as they are, those of the second have "_2" at their end, and so
        on: `image`, its numbers (attributes of an NTNDArray, fields of another object), and `output_count`.
        """
        image = image_of(frame, self._series, "pvapy")
        if image is None:
            return None
        if self._news is not None:
            news, self._news = self._news, None
            self._made.configure(news)
        publisher = self._publisher
        outputs: list[dict[str, Any]] = []
        publisher.outputs = outputs
        given = self._object(frame, image)
        returned = self._made.process(given)
        self._check_use()
        publisher.outputs = []  # memory that is free again at once is still in the processor's cache
        # PvaPy does not publish what is returned; but who returns a new object means it as a result.
        if not outputs and returned is not None and returned is not given:
            outputs = [_values(returned)]
        if len(outputs) > MOST_OUTPUTS:
            raise CannotProcess(
                f"{self.wraps.__name__} has published {len(outputs)} objects for one frame, and "
                f"{MOST_OUTPUTS} are the most"
            )
        found: dict[str, Any] = {COUNT: np.uint8(len(outputs))}
        for number, values in enumerate(outputs, 1):
            if not self.images:
                values.pop(IMAGE, None)
            found |= values if number == 1 else {f"{name}_{number}": value for name, value in values.items()}
        return found

    def end(self) -> None:
        """Stop the class, and log its statistics."""
        if self._made is None:
            return
        if stats := self._made.getStats():
            log.info("%s: %s", self.wraps.__name__, stats)
        self._made.stop()

    def _check_use(self) -> None:
        """Refuse a class that has used what is not here, and has caught what it was told.

        Raises:
            CannotProcess: it has.
        """
        for each in self._not_here:
            if each.is_used:
                raise CannotProcess(each.what)

    def _object(self, frame: Frame, image: np.ndarray[Any, Any]) -> Any:
        """Return an NTNDArray of a frame: one of its own, which the class may keep."""
        if (kind := _OTHER_TYPES.get(image.dtype)) is not None:
            image = image.astype(kind)
        if self._template is None or self._known != (image.shape, image.dtype):
            self._known = image.shape, image.dtype
            key = AdImageUtility.getNtNdArrayDataFieldKey(np.empty(0, image.dtype.newbyteorder("=")))
            # To make one takes ten times as long as to copy it.
            template = AdImageUtility.generateNtNdArray2D(0, np.zeros(image.shape, image.dtype))
            template["descriptor"] = ""
            template["value"] = {key: np.zeros(1, image.dtype)}
            self._template = template, key
        template, key = self._template
        made = template.copy()
        made[ID_FIELD] = frame.index
        made["value"] = {key: image.ravel()}
        if (time := frame.timestamp) is not None:
            stamp = pvaccess.PvTimeStamp(time)
            made["timeStamp"], made["dataTimeStamp"] = stamp, stamp
        return made


def missing() -> str:
    """Return what is not here of what is needed; "" if all is."""
    return "PvaPy (pvapy)" if pvaccess is None else ""


def adapted(kind: type[Any]) -> type[Processor]:
    """Return a processor that runs a class of PvaPy.

    Raises:
        TypeError: it is no processor of PvaPy.
    """
    if not issubclass(kind, UserDataProcessor):
        raise TypeError(
            f"class {kind.__name__} is no processor of PvaPy: it derives from neither AdImageProcessor nor "
            "UserDataProcessor"
        )
    return type(kind.__name__, (PvapyProcessor,), {"wraps": kind, "__doc__": kind.__doc__})


def _values(pv_object: Any) -> dict[str, Any]:
    """Return the results of a published object: its image and numbers by name."""
    found: dict[str, Any] = {}
    if "dimension" not in pv_object or "attribute" not in pv_object:
        for name, value in pv_object.toDict().items():
            _add(found, name, value)
        return found
    sizes = [each["size"] for each in pv_object["dimension"]]
    if len(sizes) == 2 and not pv_object["codec.name"]:
        # As `reshapeNtNdArray` does, which looks at the attributes first: half of the time.
        pixels = pv_object["value"][0][pv_object.getSelectedUnionFieldName()]
        found[IMAGE] = pixels.reshape(sizes[1], sizes[0])
    elif sizes:
        found[IMAGE] = AdImageUtility.reshapeNtNdArray(pv_object)[1]
    for attribute in pv_object["attribute"]:
        if (name := attribute["name"]) not in _NO_ATTRIBUTES and attribute["value"]:
            _add(found, name, attribute["value"][0].get("value"))
    return found


def _add(found: dict[str, Any], name: str, value: Any) -> None:
    """Add a number or an array of numbers; text and structures are none."""
    if isinstance(value, Mapping | str | bytes) or value is None:
        return
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return
    if array.dtype.kind not in "biuf":
        return
    name = _NAME.sub("_", name)[:60].lstrip("0123456789") or "_"
    while name in found or name == COUNT:
        name = f"{name}_"
    found[name] = array
