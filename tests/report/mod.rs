//! The report: the content of its page, tested in a real browser, and the files that it refuses.

mod card;
mod charts;
mod hostile;
mod sample;
mod table;

use card::*;
use charts::*;
use hostile::*;
use table::*;

ipcmark_harness::tests![
    the_page_shows_the_figures_of_the_file,
    charts_show_what_is_chosen,
    loads_have_charts_of_their_own,
    filters_leave_what_fits,
    rows_are_sorted_within_their_groups,
    definitions_are_a_focus_away,
    every_width_and_colour_scheme,
    two_results_side_by_side,
    text_of_others_never_runs,
    figures_beyond_all_measure,
    a_thousand_cases,
    a_card_to_share,
    a_result_without_a_figure,
    files_that_are_no_results,
    histograms_that_are_none,
    pages_that_cannot_be_written,
    the_page_asks_no_network,
];
