//! The position of a loader, as a checkpoint stores it.

use serde::{Deserialize, Serialize};
use shardc::Error;
use shardc::checkpoint::Info;
use shardc_ir::Diagnostic;

/// The key under which a checkpoint's information contains the position.
const NOTE: &str = "loader";

/// The position of a [`Loader`](crate::Loader). The position does not depend on the number of processes and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of returned batches, which is the number of the next batch.
    pub batch: u64,
    /// The number of rows of a batch.
    pub rows: usize,
}

impl Position {
    /// Adds the position to the information that a checkpoint saves with a state.
    pub fn note(&self, info: &mut Info) {
        info.notes.insert(NOTE.to_owned(), format!("{} batches of {}", self.batch, self.rows));
    }

    /// Reads the position that [`Position::note`] wrote; `None` if there is none.
    ///
    /// # Errors
    /// The note is not a position (SH1123).
    pub fn noted(info: &Info) -> Result<Option<Position>, Error> {
        let Some(text) = info.notes.get(NOTE) else { return Ok(None) };
        let read = text.split_once(" batches of ").and_then(|(batch, rows)| {
            Some(Position { batch: batch.parse().ok()?, rows: rows.parse().ok()? })
        });
        let wrong = || {
            let text = format!("the checkpoint's note {NOTE:?} is not a loader position: {text:?}");
            Error::from(Diagnostic::invalid("SH1123", text))
        };
        read.ok_or_else(wrong).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_round_trip() {
        let position = Position { batch: 12, rows: 64 };
        let mut info = Info::default();
        assert_eq!(Position::noted(&info).unwrap(), None);
        position.note(&mut info);
        assert_eq!(Position::noted(&info).unwrap(), Some(position));
        let json = serde_json::to_string(&position).unwrap();
        assert_eq!(json, r#"{"batch":12,"rows":64}"#);
        assert_eq!(serde_json::from_str::<Position>(&json).unwrap(), position);
        info.notes.insert(NOTE.to_owned(), "somewhere".to_owned());
        assert!(Position::noted(&info).unwrap_err().to_string().contains("SH1123"));
    }
}
