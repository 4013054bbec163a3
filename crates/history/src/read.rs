//! Reading runs and cases.

use std::collections::BTreeMap;

use ipcmark_results::{Case, RunResult};
use rusqlite::Row;

use crate::{content, fault::told, file::History};

/// A run's entry in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number in the file.
    pub run: i64,
    /// Its id.
    pub id: String,
    /// Its start in UTC, RFC 3339.
    pub started_at: String,
    /// False if it was interrupted.
    pub complete: bool,
    /// The name of its machine.
    pub machine: String,
    /// The commit that was measured.
    pub commit: Option<String>,
    /// The user's label for it.
    pub label: Option<String>,
    /// The version of ipcmark.
    pub version: String,
    /// The versions of the libraries, with their families.
    pub libraries: Vec<(String, String)>,
    /// The number of its cases.
    pub cases: u64,
}

/// A row that at least one run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseRow {
    /// Its name, as in the formats for other tools.
    pub name: String,
    /// Its transport.
    pub transport: String,
    /// The number of runs that have it.
    pub runs: u64,
}

impl History {
    /// Every run, in order of time. The error is a sentence.
    pub fn runs(&self) -> Result<Vec<Stored>, String> {
        let text = "SELECT run, id, started_at, complete, machine, commit_id, label, version,
                           (SELECT count(*) FROM cases WHERE cases.run = runs.run)
                    FROM runs ORDER BY started_at, run";
        let mut runs = self.all(text, stored)?;
        let mut libraries = self.libraries()?;
        for run in &mut runs {
            run.libraries = libraries.remove(&run.run).unwrap_or_default();
        }
        Ok(runs)
    }

    fn libraries(&self) -> Result<BTreeMap<i64, Vec<(String, String)>>, String> {
        let text = "SELECT DISTINCT run, family, library_version FROM cases
                    WHERE library_version IS NOT NULL ORDER BY family, library_version";
        let found = self.all(text, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        let mut libraries: BTreeMap<i64, Vec<(String, String)>> = BTreeMap::new();
        for (run, library) in found {
            libraries.entry(run).or_default().push(library);
        }
        Ok(libraries)
    }

    /// Every row, by name. The error is a sentence.
    pub fn rows(&self) -> Result<Vec<CaseRow>, String> {
        let text = "SELECT name, min(transport), count(DISTINCT run) FROM cases
                    GROUP BY name ORDER BY name";
        self.all(text, |row| {
            let runs: i64 = row.get(2)?;
            Ok(CaseRow { name: row.get(0)?, transport: row.get(1)?, runs: runs as u64 })
        })
    }

    /// The whole result of a run. The error is a sentence.
    pub fn result(&self, run: i64) -> Result<RunResult, String> {
        let text = "SELECT head FROM runs WHERE run = ?1";
        let read = |row: &Row| row.get::<_, Vec<u8>>(0);
        let head = self.connection.query_row(text, [run], read).map_err(self.failed("read"))?;
        let mut result = content::head(&head).map_err(self.damaged(run))?;
        let text = "SELECT content FROM cases WHERE run = ?1 ORDER BY place";
        for case in self.all_of(text, [run], |row| row.get::<_, Vec<u8>>(0))? {
            result.cases.push(content::case(&case).map_err(self.damaged(run))?);
        }
        Ok(result)
    }

    /// Every run without its cases, by number. The error is a sentence.
    pub fn heads(&self) -> Result<BTreeMap<i64, RunResult>, String> {
        let found: Vec<(i64, Vec<u8>)> =
            self.all("SELECT run, head FROM runs", |row| Ok((row.get(0)?, row.get(1)?)))?;
        let unpacked = |(run, head): (i64, Vec<u8>)| {
            Ok((run, content::head(&head).map_err(self.damaged(run))?))
        };
        found.into_iter().map(unpacked).collect()
    }

    /// The case of this name in each run that has it, by number. The error is a sentence.
    pub fn cases(&self, name: &str) -> Result<BTreeMap<i64, Case>, String> {
        let text = "SELECT run, content FROM cases WHERE name = ?1 ORDER BY run, place";
        let found: Vec<(i64, Vec<u8>)> =
            self.all_of(text, [name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let unpacked = |(run, case): (i64, Vec<u8>)| {
            Ok((run, content::case(&case).map_err(self.damaged(run))?))
        };
        found.into_iter().map(unpacked).collect()
    }

    fn damaged(&self, run: i64) -> impl Fn(String) -> String {
        let remedy = "move the file away and add the results again";
        let path = &self.path;
        move |cause| told("read", path, &format!("its run {run} is damaged: {cause}"), remedy)
    }

    fn all<T>(
        &self,
        text: &str,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, String> {
        self.all_of(text, [], read)
    }

    fn all_of<T>(
        &self,
        text: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, String> {
        let failed = self.failed("read");
        let mut statement = self.connection.prepare(text).map_err(&failed)?;
        let rows = statement.query_map(values, read).map_err(&failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(&failed)
    }
}

fn stored(row: &Row) -> rusqlite::Result<Stored> {
    Ok(Stored {
        run: row.get(0)?,
        id: row.get(1)?,
        started_at: row.get(2)?,
        complete: row.get(3)?,
        machine: row.get(4)?,
        commit: row.get(5)?,
        label: row.get(6)?,
        version: row.get(7)?,
        libraries: Vec::new(),
        cases: row.get::<_, i64>(8)? as u64,
    })
}
