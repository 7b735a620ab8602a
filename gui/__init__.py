"""The windows: live viewer, control panel, fleet page.

`model` knows what is shown and what may be done, without Qt; `live` and `panel` draw it.
"""

import os

# silx picks its Qt binding when it is first imported; without this it takes whichever is installed.
os.environ.setdefault("QT_API", "pyqt5")
