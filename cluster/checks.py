"""What is wrong with a control beside its file: looked for before it is started."""

from __future__ import annotations

from penstock.cluster.config import ControlConfig
from penstock.cluster.kubernetes import Deployments, KubernetesRefused


def check(config: ControlConfig) -> list[str]:
    """Return everything that is wrong now, as sentences; a control would say the same in its status.

    Args:
        config: with the address of the API server and the namespace.
    """
    kubernetes = Deployments(config.kubernetes)
    names = [config.receiver.deployment]
    for each in config.pipelines:
        names += [each.deployment] if each.deployment else []
        names += [each.workers.deployment] if each.workers else []
    found = []
    for name in names:
        try:
            kubernetes.scale(name)
        except KubernetesRefused as error:
            found.append(str(error))
    kubernetes.close()
    return found
