"""Live viewer: what a receiver holds, on the screen.

Nothing here talks to the detector or to the data stream; the receiver's HTTP client is the only way in.
"""

import os

# silx picks its Qt binding when it is first imported; without this it takes whichever is installed.
os.environ.setdefault("QT_API", "pyqt5")
