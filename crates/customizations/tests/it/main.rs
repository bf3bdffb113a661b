//! Tests of customizations.
