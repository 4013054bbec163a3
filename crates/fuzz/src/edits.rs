//! A valid JSON document with edits that the bytes of an input choose. Raw bytes hardly ever make a document that
//! gets past its parser.

use serde_json::{Value, json};

/// The first byte selects the meaning of the others: a raw text, or edits of the document.
pub fn document(base: &Value, data: &[u8]) -> Vec<u8> {
    match data.split_first() {
        Some((0, text)) => text.to_vec(),
        Some((_, edits)) => edited(base, edits).to_string().into_bytes(),
        None => Vec::new(),
    }
}

/// Applies edits of four bytes each: two for the position, one for the kind, and one number.
fn edited(base: &Value, edits: &[u8]) -> Value {
    let mut document = base.clone();
    for edit in edits.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        let mut left = at % count(&document);
        change(&mut document, &mut left, edit[2], edit[3]);
    }
    document
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// Changes the value after `left` others; true once that is done.
fn change(value: &mut Value, left: &mut usize, what: u8, number: u8) -> bool {
    if *left == 0 {
        replace(value, what, number);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, left, what, number)),
        Value::Object(fields) => fields.values_mut().any(|field| change(field, left, what, number)),
        _ => false,
    }
}

fn replace(value: &mut Value, what: u8, number: u8) {
    let (exponent, sign) = (i32::from(number) - 128, if what & 1 == 0 { 1.0 } else { -1.0 });
    *value = match what % 20 {
        0 => json!(number),
        1 => json!(u64::MAX >> (number % 64)),
        2 => json!(i64::MIN >> (number % 64)),
        3 | 4 => json!(sign * 10_f64.powi(exponent)),
        5 => json!(f64::MAX * sign),
        6 => Value::Null,
        7 => json!(""),
        8 => json!("x".repeat(usize::from(number) * 8)),
        9 => json!("\u{1b}[2J\u{202e}é\r\n<b>|`"),
        10 => json!([]),
        11 => json!({}),
        12 => json!(number.is_multiple_of(2)),
        13 => return resize(value, number),
        14 => return rotate(value, number),
        15 => return scale(value, f64::from(number) / 16.0),
        16 => json!(1_u64 << (number % 64)),
        17 => json!((1_u64 << (number % 64)) - 1),
        18 => json!(f64::from(number) / 8.0),
        _ => json!(0),
    };
}

/// Makes a list longer or shorter, removes a field, or cuts a text.
fn resize(value: &mut Value, number: u8) {
    let number = usize::from(number);
    match value {
        Value::Array(items) if number.is_multiple_of(2) => items.truncate(number / 2),
        Value::Array(items) => items.extend(items.clone().into_iter().cycle().take(number)),
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(number % fields.len()).cloned();
            key.map(|key| fields.remove(&key));
        }
        Value::String(text) => *text = text.chars().take(number).collect(),
        _ => {}
    }
}

/// Rotates the values of a list or of fields.
fn rotate(value: &mut Value, number: u8) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let by = usize::from(number) % items.len();
            items.rotate_left(by);
        }
        Value::Object(fields) => {
            let mut values: Vec<Value> = fields.values().cloned().collect();
            let by = usize::from(number) % values.len().max(1);
            values.rotate_left(by);
            fields.values_mut().zip(values).for_each(|(field, value)| *field = value);
        }
        _ => {}
    }
}

/// Multiplies a number, and all numbers of a list.
fn scale(value: &mut Value, factor: f64) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| scale(item, factor)),
        Value::Number(number) if number.is_u64() => {
            *value = json!((number.as_f64().unwrap_or(0.0) * factor) as u64);
        }
        Value::Number(number) => *value = json!(number.as_f64().unwrap_or(0.0) * factor),
        _ => {}
    }
}
