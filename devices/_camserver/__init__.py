"""The client of camserver, DECTRIS' program on a PILATUS3's control unit, and what a series makes of it.

References cited in the modules: [um] DECTRIS, "User Manual PILATUS3" V2.1 (in areaDetector/ADPilatus,
`documentation/`), with its page; [cs] camserver's own source as published under the GPL (`camserver.c`, Paul
Scherrer Institute and DECTRIS, 2001-2010); and the public clients [ad] areaDetector/ADPilatus
`pilatusApp/src/pilatusDetector.cpp`, [lima] esrf-bliss/Lima-camera-pilatus `src/PilatusCamera.cpp`, [cct]
cct (TTK Budapest) `devices/detector/pilatus/backend.py`, [maxiv] maxiv-science/pilatus-streamer
`pilatus/Pilatus.py`, [mx] MX (Illinois Institute of Technology) `d_pilatus.c`.
"""
