//! Output checked against its schema by an independent validator.

use serde_json::Value;
use std::process::Command;

/// Returns the schema that the program prints for an output.
pub(crate) fn schema(output: &str) -> Value {
    let printed = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(["schema", output])
        .output()
        .unwrap();
    assert!(printed.status.success());
    serde_json::from_slice(&printed.stdout).unwrap()
}

/// Fails where `value` does not follow `schema`; `what` names it.
pub(crate) fn validate(schema: &Value, value: &Value, what: &str) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}
