//! Examples of divergences: one JSON line each, redacted, few a minute.
