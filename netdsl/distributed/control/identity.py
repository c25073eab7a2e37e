"""What a control server and its workers know each other by: a certificate, a greeting and a token.

No authority signs the certificate. All of it follows from a seed, which is a new one for each attempt of a run, or
follows from a secret that the user gave to all workers.
"""

from __future__ import annotations

import hmac
import secrets
import ssl
from datetime import UTC, datetime
from tempfile import NamedTemporaryFile
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from netdsl.distributed.control.encryption import fingerprint_of, new_context
from netdsl.errors import DistributedError

SECRET = "NETDSL_SECRET"
_SHORTEST = 32  # characters of a secret, so that it can't be found by trying
_SEED = 32  # bytes
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "netdsl")])
_FROM, _UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)  # clients don't look at the dates


class Identity:
    """The identity of a control server. The same seed gives the same one in each process."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.greeting, self.token = self._derived("greeting").hex(), self._derived("token").hex()
        self._key = Ed25519PrivateKey.from_private_bytes(self._derived("key"))
        self._certificate = (  # this kind of key signs without random numbers
            x509.CertificateBuilder()
            .subject_name(_NAME)
            .issuer_name(_NAME)
            .public_key(self._key.public_key())
            .serial_number(1)
            .not_valid_before(_FROM)
            .not_valid_after(_UNTIL)
            .sign(self._key, None)
        )
        self.fingerprint = fingerprint_of(self._certificate.public_bytes(Encoding.DER))

    @classmethod
    def new(cls) -> Self:
        """Return an identity that no other process knows."""
        return cls(secrets.token_bytes(_SEED))

    @classmethod
    def of_secret(cls, secret: str, job: str) -> Self:
        """Return the identity for a job whose workers all know a secret. Raises a `DistributedError` if it is short."""
        if len(secret) < _SHORTEST:
            raise DistributedError(
                f"{SECRET} has {len(secret)} characters, and needs at least {_SHORTEST}, so that it can't be found by "
                "trying; make one with: openssl rand -hex 32"
            )
        return cls(hmac.digest(secret.encode("utf-8", "surrogateescape"), job.encode(), "sha256"))

    def _derived(self, purpose: str) -> bytes:
        return hmac.digest(self._seed, purpose.encode(), "sha256")

    def context(self) -> ssl.SSLContext:
        """Return the settings with which a server proves that it has the key of the certificate."""
        context = new_context(ssl.PROTOCOL_TLS_SERVER)
        with NamedTemporaryFile() as file:  # only this user may read it, and ssl loads keys from files only
            file.write(self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            file.write(self._certificate.public_bytes(Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context
