//! Lays out a table and text within a width: columns as wide as their content, the flexible ones cut with `…`. Widths
//! are those of a terminal, where some characters take two columns and some none.

use tabled::builder::Builder;
use tabled::grid::util::string::get_line_width;
use tabled::settings::object::Columns;
use tabled::settings::{Alignment, Color, Padding, Style};

/// How a row is painted, where there are colours at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// As it is.
    Plain,
    /// A heading.
    Bold,
    /// What differs.
    Red,
    /// What differs by itself.
    Yellow,
    /// What matches.
    Green,
    /// What may be passed over.
    Dim,
}

/// Where text in a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Text, flush left.
    Left,
    /// Numbers, flush right.
    Right,
}

/// Between two columns.
const GAP: usize = 2;

/// A table whose cells are ready to be shown.
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<(Paint, Vec<String>)>,
}

impl Grid {
    /// Begins with its heading.
    pub fn new<const N: usize>(heading: [(&str, Column); N]) -> Self {
        Self::of(heading.into())
    }

    /// Begins with a heading whose columns are known at run time only.
    pub fn of(heading: Vec<(&str, Column)>) -> Self {
        let columns = heading.iter().map(|(_, column)| *column).collect();
        let heading = heading.into_iter().map(|(text, _)| text.to_owned()).collect();
        Self { columns, rows: vec![(Paint::Bold, heading)] }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, paint: Paint, cells: [String; N]) {
        self.add(paint, cells.into());
    }

    /// Adds a row of as many cells as the heading has.
    pub fn add(&mut self, paint: Paint, cells: Vec<String>) {
        self.rows.push((paint, cells));
    }

    /// Sets the cells of one column, from the first row below the heading on.
    pub fn fill(&mut self, column: usize, cells: impl IntoIterator<Item = String>) {
        for ((_, row), cell) in self.rows.iter_mut().skip(1).zip(cells) {
            row[column] = cell;
        }
    }

    /// How wide the columns other than those of `but` are, gaps included.
    pub fn width_without(&self, but: &[usize]) -> usize {
        let columns = 0..self.columns.len();
        let widest = |column: usize| self.rows.iter().map(|(_, cells)| width(&cells[column])).max().unwrap_or(0);
        let gaps = GAP * self.columns.len().saturating_sub(1);
        columns.filter(|column| !but.contains(column)).map(widest).sum::<usize>() + gaps
    }

    /// The table as lines, without spaces at their ends.
    pub fn render(self, colour: bool) -> String {
        let mut builder = Builder::default();
        for (_, cells) in &self.rows {
            builder.push_record(cells);
        }
        let mut table = builder.build();
        table.with(Style::empty()).with(Padding::new(0, GAP, 0, 0));
        for (i, column) in self.columns.iter().enumerate() {
            if *column == Column::Right {
                table.modify(Columns::one(i), Alignment::right());
            }
        }
        let lines = table.to_string();
        let lines = lines.lines().zip(&self.rows).map(|(line, (paint, _))| paint.on(line.trim_end(), colour) + "\n");
        lines.collect()
    }
}

impl Paint {
    /// Paints a text, where `colour` allows it.
    pub fn on(self, text: &str, colour: bool) -> String {
        let paint = match self {
            Self::Plain => return text.to_owned(),
            Self::Bold => Color::BOLD,
            Self::Red => Color::FG_RED,
            Self::Yellow => Color::FG_YELLOW,
            Self::Green => Color::FG_GREEN,
            Self::Dim => Color::new("\u{1b}[2m", "\u{1b}[22m"),
        };
        if colour { paint.colorize(text) } else { text.to_owned() }
    }
}

/// How many columns of a terminal a line takes.
pub fn width(line: &str) -> usize {
    get_line_width(line)
}

/// Cuts a text to `most` columns, `…` at its end where anything is missing.
pub fn cut_end(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut cut = head(text.chars(), most.saturating_sub(1));
    cut.push('…');
    cut
}

/// Cuts a text to `most` columns, `…` at its beginning where anything is missing.
pub fn cut_start(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let tail: String = head(text.chars().rev(), most.saturating_sub(1)).chars().rev().collect();
    format!("…{tail}")
}

fn head(chars: impl Iterator<Item = char>, most: usize) -> String {
    let mut head = String::new();
    for c in chars {
        head.push(c);
        if width(&head) > most {
            head.pop();
            break;
        }
    }
    head
}

/// Breaks a text between words into lines of at most `most` columns; the second and later ones are indented by `indent`.
/// Lines of its own the text keeps, and the spaces that it begins with. A percent sign stays with its number.
pub fn wrap(text: &str, most: usize, indent: usize) -> String {
    let mut wrapped = String::new();
    let begun = text.len() - text.trim_start_matches(' ').len();
    wrapped.extend(std::iter::repeat_n(' ', begun));
    let mut column = begun;
    for (i, line) in text[begun..].replace(" %", "\u{a0}%").split('\n').enumerate() {
        for (j, word) in line.split(' ').enumerate() {
            let word_width = width(word);
            if (i > 0 && j == 0) || (j > 0 && column + 1 + word_width > most) {
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if j > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += word_width;
        }
    }
    wrapped.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns_and_not_by_characters() {
        for (text, most, end, start) in [
            ("abc", 3, "abc", "abc"),
            ("abcd", 3, "ab…", "…cd"),
            ("苹果苹果", 5, "苹果…", "…苹果"),
            ("苹果苹果", 4, "苹…", "…果"),
            ("abc", 1, "…", "…"),
        ] {
            assert_eq!(cut_end(text, most), end, "{text} {most}");
            assert_eq!(cut_start(text, most), start, "{text} {most}");
            assert!(width(&cut_end(text, most)) <= most && width(&cut_start(text, most)) <= most);
        }
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("at most 12 % of", 10, 0), "at most\n12 % of");
        assert_eq!(wrap("a-word-that-is-too-long b", 5, 0), "a-word-that-is-too-long\nb");
        assert_eq!(wrap("  one two", 6, 4), "  one\n    two");
        assert_eq!(wrap("one\ntwo three", 9, 2), "one\n  two\n  three");
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let grid = || {
            let mut grid = Grid::new([("A", Column::Left), ("N", Column::Right)]);
            grid.row(Paint::Red, ["苹果".to_owned(), "1,000".to_owned()]);
            grid.row(Paint::Plain, ["x".to_owned(), "2".to_owned()]);
            grid
        };
        assert_eq!(grid().render(false), "A         N\n苹果  1,000\nx         2\n");
        let painted = grid().render(true).lines().nth(1).map(str::to_owned);
        assert_eq!(painted.as_deref(), Some("\u{1b}[31m苹果  1,000\u{1b}[39m"));
    }
}
