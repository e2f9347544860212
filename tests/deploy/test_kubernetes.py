"""The Kubernetes manifests are confined, bounded, and select the right pods."""

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


def test_the_kustomization_lists_every_manifest_except_the_job_and_the_template() -> None:
    not_listed = {"kustomization.yaml", "index-job.yaml", "secret.example.yaml"}
    assert set(MANIFESTS["kustomization.yaml"]["resources"]) == set(MANIFESTS) - not_listed


def test_every_selector_selects_the_pods_of_the_deployment() -> None:
    labels = MANIFESTS["deployment.yaml"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        MANIFESTS["deployment.yaml"]["spec"]["selector"]["matchLabels"],
        MANIFESTS["disruption.yaml"]["spec"]["selector"]["matchLabels"],
        MANIFESTS["network.yaml"]["spec"]["podSelector"]["matchLabels"],
        MANIFESTS["service.yaml"]["spec"]["selector"],
    ]
    assert all(each.items() <= labels for each in selectors)
    job = MANIFESTS["index-job.yaml"]["spec"]["template"]["metadata"]["labels"]
    assert not MANIFESTS["service.yaml"]["spec"]["selector"].items() <= job.items()
    target = MANIFESTS["autoscaler.yaml"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", MANIFESTS["deployment.yaml"]["metadata"]["name"])


def test_pods_read_their_settings_from_existing_resources() -> None:
    for pod in PODS.values():
        (container,) = pod["containers"]
        sources = [next(iter(each.values()))["name"] for each in container["envFrom"]]
        assert sources == [MANIFESTS[name]["metadata"]["name"] for name in ("configmap.yaml", "secret.example.yaml")]


def test_pods_read_keys_from_an_optional_secret() -> None:
    pod = PODS["deployment.yaml"]
    folder = MANIFESTS["configmap.yaml"]["data"]["BOOKBOUND_KEY_FILE"].rpartition("/")[0]
    (container,) = pod["containers"]
    (mount,) = (each for each in container["volumeMounts"] if each["mountPath"] == folder)
    assert mount["readOnly"] is True
    assert "subPath" not in mount, "a single mounted file is never updated"
    (volume,) = (each["secret"] for each in pod["volumes"] if each["name"] == mount["name"])
    assert volume == {"secretName": "bookbound-keys", "optional": True, "defaultMode": 0o440}
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
