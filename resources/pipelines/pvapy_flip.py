"""An example of a processor class of PvaPy: the image upside down, and its first pixel as an attribute."""

import numpy as np
import pvaccess as pva
from pvapy.hpc.adImageProcessor import AdImageProcessor


class Flip(AdImageProcessor):
    """Publishes one NTNDArray per image."""

    def __init__(self, configDict={}):  # noqa: B006  as PvaPy calls it
        """Take what `config` says in the pipeline's file."""
        AdImageProcessor.__init__(self, configDict)
        self.flipped = 0
        self.configure(configDict)

    def configure(self, configDict):
        """Take a factor, by which the image is multiplied; it may change while frames come."""
        self.factor = configDict.get("factor", 1)

    def process(self, pvObject):
        """Publish the image upside down."""
        imageId, image, *_ = self.reshapeNtNdArray(pvObject)
        flipped = np.flip(image, 0) * image.dtype.type(self.factor)
        output = self.generateNtNdArray2D(imageId, flipped)
        colour = pva.NtAttribute("ColorMode", pva.PvInt(0))
        output["attribute"] = [colour, pva.NtAttribute("first", pva.PvDouble(float(flipped[0, 0])))]
        self.updateOutputChannel(output)
        self.flipped += 1
        return output

    def getStats(self):
        """Return statistics, which are logged at the end of a series."""
        return {"flipped": self.flipped}
