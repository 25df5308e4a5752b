"""The JSON-LD contexts that RO-Crate metadata name, without a network: a local copy of the terms that a crate uses.

`issues` puts them where rocrate-validator keeps what it fetched, so that it runs offline and finds them there.
A term that is not listed is unknown to the validator, and every listed one stands in the published contexts
(https://w3id.org/ro/crate/1.1/context, version 1.1.3, and https://w3id.org/ro/terms/workflow-run/context), where most
are those of schema.org under their own names.
"""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from urllib3 import HTTPResponse

OF_SCHEMA = """
ComputerLanguage ControlAction CreateAction CreativeWork Dataset HowTo HowToStep OrganizeAction Organization
Person PropertyValue SoftwareApplication SoftwareSourceCode about actionStatus additionalType agent author
conditionsOfAccess contentSize datePublished description encodingFormat endTime exampleOfWork familyName
givenName hasPart identifier instrument license mainEntity mentions name object position programmingLanguage
propertyID result softwareRequirements softwareVersion startTime step url value version workExample
"""
BIOSCHEMAS = "https://bioschemas.org/"
OTHERS = {
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "ComputationalWorkflow": f"{BIOSCHEMAS}ComputationalWorkflow",
    "FormalParameter": f"{BIOSCHEMAS}FormalParameter",
    "input": f"{BIOSCHEMAS}ComputationalWorkflow#input",
    "output": f"{BIOSCHEMAS}ComputationalWorkflow#output",
}
CRATE, RUN = "https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"
CONTEXTS = {
    CRATE: {term: f"http://schema.org/{term}" for term in OF_SCHEMA.split()} | OTHERS,
    RUN: {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
}


class Local(HTTPAdapter):
    """Answers for the two contexts and for nothing else."""

    def send(self, request, **_):
        body = io.BytesIO(json.dumps({"@context": CONTEXTS[request.url]}).encode())
        head = {"Content-Type": "application/ld+json"}
        raw = HTTPResponse(body, head, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, raw)


def issues(crate: Path, scratch: Path, severity: str = "REQUIRED") -> list[tuple[str, str, str]]:
    """What rocrate-validator finds in a crate, offline: severity, name of the check and message.

    scratch : folder for its cache, into which the contexts are put as if they had been fetched
    """
    path = scratch / "cache"
    with CachedSession(str(path), backend="sqlite", expire_after=-1) as session:
        session.mount("https://", Local())
        for address in CONTEXTS:
            session.get(address)
    settings = services.ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier="provenance-run-crate",
        requirement_severity=severity,
        offline=True,
        cache_path=path,
    )
    # Its own calls of rdflib are deprecated.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        found = services.validate(settings).get_issues()
    return [(one.severity.name, one.check.identifier, one.message) for one in found]
