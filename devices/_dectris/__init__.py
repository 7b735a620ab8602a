"""The shared part of DECTRIS detectors: the client of their control unit's interface SIMPLON.

References cited in the modules: [ref16], [ref18] "SIMPLON API Reference" 1.6 and 1.8; [um] "EIGER2 User
Manual" v1.8.2; [v2] "Stream V2" (github.com/dectris/documentation, stream_v2/README.md); and the public
clients ADEiger (areaDetector), Lima-camera-eiger (ESRF), fastcs-eiger (Diamond).
"""
