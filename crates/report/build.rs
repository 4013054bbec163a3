//! Finds the charting library of the report: Apache ECharts, one minified file in the package
//! `charming`, whose version and checksum are in `Cargo.lock`. Cargo fetches the package like any
//! other and reports its location; its Rust code is not compiled.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tinyjson::JsonValue;

/// The package that carries the file.
const PACKAGE: &str = "charming";

/// The file within the package.
const FILE: &str = "src/asset/echarts-5.5.1.min.js";

/// The notice that the licence of the file requires to keep.
const LICENCE: &str = "Licensed to the Apache Software Foundation (ASF)";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    if let Err(cause) = provide() {
        panic!(
            "cannot take the charting library from the package {PACKAGE}: {cause}; `cargo fetch \
             --locked` brings the package where there is a network"
        );
    }
}

/// Copies the file to the directory from which the crate includes it.
fn provide() -> Result<(), String> {
    let path = package()?.join(FILE);
    let script = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if !script.contains(LICENCE) || script.contains("</script") || script.contains("<!--") {
        return Err(format!("{} is not the file that is expected", path.display()));
    }
    let copy = PathBuf::from(variable("OUT_DIR")?).join("echarts.min.js");
    fs::write(&copy, script).map_err(|e| format!("{}: {e}", copy.display()))
}

/// The directory of the package.
fn package() -> Result<PathBuf, String> {
    let metadata = metadata()?;
    let packages = metadata["packages"].get::<Vec<_>>().map(Vec::as_slice).unwrap_or_default();
    let package = packages.iter().find(|package| text(package, "name") == Some(PACKAGE));
    let manifest = package.and_then(|package| text(package, "manifest_path"));
    let manifest = Path::new(manifest.ok_or("cargo metadata does not name it")?);
    Ok(manifest.parent().ok_or("its manifest has no directory")?.into())
}

fn text<'a>(package: &'a JsonValue, key: &str) -> Option<&'a str> {
    package[key].get::<String>().map(String::as_str)
}

/// Cargo's metadata of this crate's packages. Cargo fetches missing packages.
fn metadata() -> Result<JsonValue, String> {
    let output = Command::new(variable("CARGO")?)
        .args(["metadata", "--format-version=1", "--locked", "--features=charts"])
        .args(["--filter-platform", &variable("HOST")?])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        text.parse().map_err(|e| format!("cargo metadata: {e}"))
    } else {
        Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|e| format!("{name}: {e}"))
}
