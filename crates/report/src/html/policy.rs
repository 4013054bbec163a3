//! The page's Content Security Policy: exactly its own scripts and its own style, and no network.

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

/// The policy for a page with this style and these scripts, each identified by its hash.
pub fn of(style: &str, scripts: &[&str]) -> String {
    let scripts: Vec<String> = scripts.iter().map(|script| source(script)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        scripts.join(" "),
        source(style)
    )
}

fn source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_hash() {
        // echo -n 'alert()' | openssl dgst -sha256 -binary | base64
        let known = "'sha256-";
        let policy = of("", &["alert()"]);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.matches(known).count() == 2, "{policy}");
    }
}
