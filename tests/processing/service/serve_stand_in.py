"""The HTTP process of a pipeline whose distributor is the stand-in; it prints its URL once it answers.

`python -m tests.processing.service.serve_stand_in PIPELINE`
"""

from __future__ import annotations

import sys

from penstock.cli._arguments.targets import listen
from penstock.processing.config import classes, pipeline_file
from penstock.processing.service.http import create_app
from penstock.processing.service.supervisor import Supervisor
from penstock.service import logs, server

if __name__ == "__main__":
    logs.begin()
    config = pipeline_file.load(sys.argv[1])
    supervisor = Supervisor(
        config, classes.steps(config), distributor="tests.processing.service.stand_in_distributor"
    )
    listener, url = listen("127.0.0.1:0", "pipeline")
    app, ending = create_app(supervisor), supervisor.end_waits
    sys.exit(server.serve(app, listener, lambda: print(url, flush=True), ending))
