"""The manifests: confined, bounded, and selecting what they mean."""

from __future__ import annotations

from typing import Any

import pytest
from tests.deploy.files import MANIFESTS, PODS


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_every_pod_is_confined_and_bounded(pod: dict[str, Any]) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    assert "memory" in container["resources"]["limits"]
    assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_the_kustomization_names_every_manifest_but_the_job_and_the_template() -> None:
    apart = {"kustomization.yaml", "index-job.yaml", "secret.example.yaml"}
    assert set(MANIFESTS["kustomization.yaml"]["resources"]) == set(MANIFESTS) - apart


def test_whatever_selects_pods_selects_those_of_the_deployment() -> None:
    labels = MANIFESTS["deployment.yaml"]["spec"]["template"]["metadata"]["labels"].items()
    chosen = [
        MANIFESTS["deployment.yaml"]["spec"]["selector"]["matchLabels"],
        MANIFESTS["disruption.yaml"]["spec"]["selector"]["matchLabels"],
        MANIFESTS["network.yaml"]["spec"]["podSelector"]["matchLabels"],
        MANIFESTS["service.yaml"]["spec"]["selector"],
    ]
    assert all(each.items() <= labels for each in chosen)
    job = MANIFESTS["index-job.yaml"]["spec"]["template"]["metadata"]["labels"]
    assert not MANIFESTS["service.yaml"]["spec"]["selector"].items() <= job.items()
    target = MANIFESTS["autoscaler.yaml"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", MANIFESTS["deployment.yaml"]["metadata"]["name"])


def test_pods_take_their_settings_from_what_is_there() -> None:
    for pod in PODS.values():
        (container,) = pod["containers"]
        taken = [next(iter(each.values()))["name"] for each in container["envFrom"]]
        assert taken == [MANIFESTS[name]["metadata"]["name"] for name in ("configmap.yaml", "secret.example.yaml")]


def test_pods_read_keys_from_a_secret_that_need_not_be_there() -> None:
    pod = PODS["deployment.yaml"]
    folder = MANIFESTS["configmap.yaml"]["data"]["BOOKBOUND_KEYS"].rpartition("/")[0]
    (container,) = pod["containers"]
    (mount,) = (each for each in container["volumeMounts"] if each["mountPath"] == folder)
    assert mount["readOnly"] is True
    assert "subPath" not in mount, "a file that is mounted alone is never brought up to date"
    (volume,) = (each["secret"] for each in pod["volumes"] if each["name"] == mount["name"])
    assert volume == {"secretName": "bookbound-keys", "optional": True, "defaultMode": 0o440}
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
