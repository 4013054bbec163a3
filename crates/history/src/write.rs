//! Adding results.

use ipcmark_results::{Case, Figure, Row, RunResult, to_json};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::{content::packed, fault::told, file::History};

/// The user's labels of a run; labels that are not given stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLabels {
    /// The commit that was measured.
    pub commit: Option<String>,
    /// Any words.
    pub label: Option<String>,
    /// A name of the machine.
    pub machine: Option<String>,
}

/// The outcome of adding a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// It was there already.
    Known,
    /// It replaced the incomplete result of the same run.
    Completed,
}

/// A run that is already in the file.
struct Known {
    run: i64,
    hash: String,
    complete: bool,
}

impl History {
    /// Adds a result whose cases have these names, or sets the labels of an existing one. `machine` is its machine's
    /// name, unless the labels have one. The error is a sentence.
    pub fn add(
        &mut self,
        result: &RunResult,
        names: &[String],
        machine: &str,
        labels: &RunLabels,
    ) -> Result<Added, String> {
        let failed = self.failed("write");
        let result = &*result.settled();
        // Immediate: a second writer waits for the first here, and not after it has read.
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(&failed)?;
        let hash = hash(result);
        let known = known(&transaction, result).map_err(&failed)?;
        let added = match &known {
            None => Added::New,
            Some(known) if known.hash == hash => Added::Known,
            Some(known) if !known.complete && result.complete => Added::Completed,
            Some(_) => {
                let cause = format!("it has another result of the run {}", result.run.id);
                return Err(told(
                    "write",
                    &self.path,
                    &cause,
                    "a run is added once it is complete",
                ));
            }
        };
        let run = match known {
            Some(known) if added == Added::Known => known.run,
            known => insert(&transaction, result, names, machine, &hash, known.map(|k| k.run))
                .map_err(&failed)?,
        };
        label(&transaction, run, labels).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(added)
    }
}

fn known(transaction: &Transaction, result: &RunResult) -> rusqlite::Result<Option<Known>> {
    let text = "SELECT run, hash, complete FROM runs WHERE id = ?1 AND started_at = ?2";
    let key = [&result.run.id, &result.run.started_at];
    let read = |row: &rusqlite::Row| {
        Ok(Known { run: row.get(0)?, hash: row.get(1)?, complete: row.get(2)? })
    };
    transaction.query_row(text, key, read).optional()
}

/// Inserts a result, or replaces that of the run `old` and keeps its labels; returns the run's
/// number.
fn insert(
    transaction: &Transaction,
    result: &RunResult,
    names: &[String],
    machine: &str,
    hash: &str,
    old: Option<i64>,
) -> rusqlite::Result<i64> {
    let head = packed(&RunResult { cases: Vec::new(), ..result.clone() });
    let run = match old {
        Some(run) => {
            transaction.execute("DELETE FROM cases WHERE run = ?1", [run])?;
            let text = "UPDATE runs SET hash = ?2, complete = ?3, head = ?4 WHERE run = ?1";
            transaction.execute(text, params![run, hash, result.complete, head])?;
            run
        }
        None => {
            transaction.execute(
                "INSERT INTO runs (id, started_at, hash, complete, machine, version, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    result.run.id,
                    result.run.started_at,
                    hash,
                    result.complete,
                    machine,
                    result.run.version,
                    head
                ],
            )?;
            transaction.last_insert_rowid()
        }
    };
    let distance = result.reference_distance();
    for (place, (case, name)) in result.cases.iter().zip(names).enumerate() {
        let figure = Row::of(case, distance).and_then(|row| row.location());
        insert_case(transaction, run, place, name, case, figure)?;
    }
    Ok(run)
}

fn insert_case(
    transaction: &Transaction,
    run: i64,
    place: usize,
    name: &str,
    case: &Case,
    figure: Option<Figure>,
) -> rusqlite::Result<()> {
    let interval = figure.and_then(|figure| figure.interval);
    let mut insert = transaction
        .prepare("INSERT INTO cases VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    insert.execute(params![
        run,
        place as i64,
        name,
        case.identity.transport,
        case.identity.family,
        case.identity.library_version,
        case.status().as_str(),
        figure.map(|figure| figure.value),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        packed(case),
    ])?;
    Ok(())
}

fn label(transaction: &Transaction, run: i64, labels: &RunLabels) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE runs SET commit_id = coalesce(?2, commit_id), label = coalesce(?3, label),
                         machine = coalesce(?4, machine)
         WHERE run = ?1",
        params![run, labels.commit, labels.label, labels.machine],
    )?;
    Ok(())
}

/// The hash of a result's content.
fn hash(result: &RunResult) -> String {
    let digest = Sha256::digest(to_json(result));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
