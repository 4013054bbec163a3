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
    charts_show_the_chosen_rows,
    loads_have_charts_of_their_own,
    every_swept_property_has_its_curve,
    filters_leave_matching_rows,
    rows_are_sorted_within_their_groups,
    definitions_are_shown_on_focus,
    every_width_and_colour_scheme,
    two_results_side_by_side,
    text_of_a_result_is_never_executed,
    extreme_figures,
    a_thousand_cases,
    a_card_to_share,
    a_result_without_a_figure,
    files_that_are_no_results,
    invalid_histograms,
    pages_that_cannot_be_written,
    the_page_makes_no_network_request,
];
