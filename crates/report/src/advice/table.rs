//! Advice for a terminal.

use super::{AdviceShown, question, sentences};
use crate::{
    format::Terminal,
    page::{BOLD, Page},
};

/// The width of the labels.
const LABELS: usize = 13;

/// The advice for a terminal.
pub fn advice_table(shown: &AdviceShown, terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    page.wrapped(BOLD, "", &format!("what to use here for {}", question(&shown.question)));
    let mut last = "";
    for (label, sentence) in sentences(shown) {
        let first = if label == last { "" } else { label };
        let look = if label == "use" { BOLD } else { "" };
        page.wrapped(look, &format!("  {first:<LABELS$}"), &sentence);
        last = label;
    }
    page.text
}
