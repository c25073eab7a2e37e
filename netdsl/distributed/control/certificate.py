"""The certificate of a control server. It is made for one attempt of a run, and no authority signs it."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from netdsl.distributed.control.encryption import fingerprint_of, new_context

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "netdsl")])
_VALID = timedelta(days=3650)  # clients compare the fingerprint, and don't look at the dates


def certified_context() -> tuple[ssl.SSLContext, str]:
    """Return the settings of a server with a new key, and the fingerprint of its certificate."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    context = new_context(ssl.PROTOCOL_TLS_SERVER)
    with NamedTemporaryFile() as file:  # only this user may read it, and ssl loads keys from files only
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.write(certificate.public_bytes(Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)
    return context, fingerprint_of(certificate.public_bytes(Encoding.DER))
