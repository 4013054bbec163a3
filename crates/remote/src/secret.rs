//! The secret that commands on different hosts share. It comes from a file, for a command line is
//! everybody's to read.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use ipcmark_transport::Error;
use sha2::{Digest, Sha256};

/// What is shorter can be guessed from what was once recorded.
const LEAST_BYTES: usize = 16;

/// More than anybody types or generates.
const MOST_BYTES: u64 = 4096;

/// How to make one.
const REMEDY: &str = "make one: (umask 077; openssl rand -hex 32 >secret), and copy it to the other \
    host";

/// A shared secret, as a key.
#[derive(Clone)]
pub struct Secret(pub(crate) [u8; 32]);

impl Secret {
    /// Reads the file, which must be this user's alone; white space around the secret does not
    /// count.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let object = format!("the secret in {}", path.display());
        let failed = |error| Error::os("read", &object, error).remedy(REMEDY);
        let metadata = fs::metadata(path).map_err(failed)?;
        let fault = |cause: &str| Err(Error::new("use", &object, cause));
        if metadata.mode() & 0o077 != 0 {
            let error = Error::new("use", &object, "others may read or change the file");
            return Err(error.remedy(format!("chmod 600 {}", path.display())));
        }
        if metadata.len() > MOST_BYTES {
            return fault("the file is longer than 4096 bytes");
        }
        let bytes = fs::read(path).map_err(failed)?;
        let secret = bytes.trim_ascii();
        if secret.len() < LEAST_BYTES {
            let cause = format!("it has fewer than {LEAST_BYTES} characters");
            return Err(Error::new("use", object, cause).remedy(REMEDY));
        }
        Ok(Self(Sha256::digest(secret).into()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn read(text: &str, mode: u32) -> Result<Secret, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Secret::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_is_a_long_line_in_a_file_of_ones_own() {
        let one = read("0123456789abcdef", 0o600).unwrap();
        let same = read("  0123456789abcdef\n", 0o400).unwrap();
        assert_eq!(one.0, same.0);
        assert!(read("too short", 0o600).err().unwrap().contains("fewer than 16"));
        assert!(read("0123456789abcdef", 0o644).err().unwrap().contains("chmod 600"));
        assert!(read(&"x".repeat(5000), 0o600).err().unwrap().contains("longer than"));
        let missing = Secret::read(Path::new("/nowhere/secret")).err().unwrap().to_string();
        assert!(missing.contains("openssl rand"), "{missing}");
    }
}
