//! An operator's configuration against what its module says of it.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::{
    description::Description,
    spec::{OperatorSpec, Placed, diagnostic::Problems},
};

/// The most problems of one configuration that are told.
const PROBLEMS_MAX: usize = 20;

/// Reports where a configuration is not what its module's schema wants. An operator
/// without one is taken to give `{}` or `null`, as the SDKs read it.
pub(super) fn check(spec: &OperatorSpec, description: &Description, problems: &mut Problems) {
    let (Some(schema), Some(module)) = (&description.config_schema, &spec.module) else { return };
    let validator = match validator(schema) {
        Ok(validator) => validator,
        Err(why) => {
            let message = format!("The configuration is not checked: `{}` {why}", module.value);
            problems.warning(module.place, &module.path, "schema-unusable", message);
            return;
        }
    };
    match &spec.config {
        Some(config) => compare(&validator, config, module, problems),
        None => {
            let empty = [Value::Object(serde_json::Map::new()), Value::Null];
            if !empty.iter().any(|value| validator.is_valid(value)) {
                problems
                    .error(
                        spec.id.place,
                        &spec.id.path,
                        "config-missing",
                        format!("`{}` needs a configuration.", module.value),
                    )
                    .help("add `config:`; the module's report has its schema");
            }
        }
    }
}

fn compare<M: std::fmt::Display>(
    validator: &Validator,
    config: &Placed<Value>,
    module: &Placed<M>,
    problems: &mut Problems,
) {
    for error in validator.iter_errors(&config.value).take(PROBLEMS_MAX) {
        let within = error.instance_path().to_string().replace('/', ".");
        problems
            .error(
                config.place,
                &format!("{}{within}", config.path),
                "config-mismatch",
                format!("The configuration does not fit: {error}."),
            )
            .help(format!("change it, or see what `{}` wants in its report", module.value));
    }
}

/// Makes a validator that takes linear time in patterns and fetches nothing.
fn validator(schema: &str) -> Result<Validator, String> {
    let schema: Value = serde_json::from_str(schema)
        .map_err(|error| format!("has a schema for it that is not JSON: {error}."))?;
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .map_err(|error| format!("has a schema for it that cannot be used: {error}."))
}
