//! Figures: numbers that JSON can hold and that are not negative.

/// Checks that all of these are figures; the error names the first one that is not.
pub(crate) fn check_figures(figures: &[(&str, f64)]) -> Result<(), String> {
    match figures.iter().find(|(_, value)| !is_figure(*value)) {
        Some((name, value)) => Err(format!("{name} is {value}, not a figure")),
        None => Ok(()),
    }
}

/// True if a number is a figure.
pub(crate) fn is_figure(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
