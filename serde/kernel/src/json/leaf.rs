//! Values without parts: a value of JSON → what columns hold.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiter::Peek;

use crate::json::Fault;
use crate::json::description::Read;
use crate::json::document::Document;
use crate::json::numbers::{decimal, decimal_of_text, double, own_text, whole, whole_of_text};
use crate::leaf::{DAY_MILLIS, Value, became};

/// The value of a reading without parts, of what was peeked at and is not null.
#[inline]
pub fn leaf<'v>(
    read: &Read,
    document: &'v mut Document<'_>,
    peek: Peek,
    scratch: &'v mut Vec<u8>,
) -> Result<Value<'v>, Fault> {
    Ok(match read {
        Read::Boolean { as_text } => {
            let value = document.jiter.known_bool(peek)?;
            if *as_text { Value::Text(boolean_text(value)) } else { Value::Boolean(value) }
        }
        Read::Number { bits, of_text, within_a_day, becomes } => {
            let number = match peek {
                Peek::String if *of_text => whole_of_text(document.number_text()?),
                Peek::String => None,
                _ => whole(document.number(peek)?),
            };
            let number = number.filter(|number| is_within(*number, *bits)).ok_or(Fault::Unread)?;
            if *within_a_day && !(0..=DAY_MILLIS).contains(&number) {
                return Err(Fault::Unread);
            }
            became(number, *becomes).ok_or(Fault::Unread)?
        }
        Read::Double { is_narrow, has_negative_zero } => {
            let number = double(document.number(peek)?).ok_or(Fault::Unread)?;
            let number = if *is_narrow { f64::from(number as f32) } else { number };
            Value::Double(if *has_negative_zero { number } else { number + 0.0 })
        }
        Read::String { of_scalars } => match peek {
            Peek::String => Value::Text(document.jiter.known_str()?),
            Peek::True | Peek::False if *of_scalars => Value::Text(boolean_text(document.jiter.known_bool(peek)?)),
            _ if *of_scalars => Value::Text(own_text(document.number(peek)?).ok_or(Fault::Unread)?),
            _ => return Err(Fault::Unread),
        },
        Read::Bytes => match peek {
            Peek::String => {
                scratch.clear();
                let text = document.jiter.known_str()?;
                STANDARD.decode_vec(text, scratch).map_err(|_| Fault::Unread)?;
                Value::Bytes(scratch)
            }
            _ => return Err(Fault::Unread),
        },
        Read::Decimal { precision, scale, of_text } => {
            let number = match peek {
                Peek::String if *of_text => decimal_of_text(document.number_text()?, *precision, *scale),
                Peek::String => None,
                _ => decimal(document.number(peek)?, *precision, *scale),
            };
            Value::Decimal(number.ok_or(Fault::Unread)?, *scale)
        }
        Read::List { .. } | Read::Map { .. } | Read::Entries { .. } | Read::Object(_) | Read::Refused => {
            return Err(Fault::Unread);
        }
    })
}

#[inline]
fn is_within(number: i64, bits: u32) -> bool {
    match bits {
        8 => i8::try_from(number).is_ok(),
        16 => i16::try_from(number).is_ok(),
        32 => i32::try_from(number).is_ok(),
        _ => true,
    }
}

fn boolean_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
