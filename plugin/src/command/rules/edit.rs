//! Rules in an editor, as `kubectl edit` does it: a temporary file, opened again with what is wrong on top until it is right.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use mirror_core::config::Rules;
use tempfile::TempPath;

use super::yaml;
use crate::output::message;
use crate::rules;

/// What comes of editing.
#[derive(Debug)]
pub enum Edited {
    /// Other rules, and the file that they are in.
    Rules(Rules, TempPath),
    /// Nothing is to be done, in words: `no changes made`.
    Cancelled(&'static str),
    /// Mistakes that the user left as they are, and the file that they are in.
    Mistaken(TempPath),
}

/// What a file without rules shows.
const NONE_YET: &str = "# There are none yet. For example:\n\
    #\n\
    # ignore:\n\
    #   - /meta/generated_at\n\
    # tolerance:\n\
    #   - path: /items/*/price\n\
    #     absolute: 0.01\n";

/// Lets the user change rules; `open` shows a file to him and returns when he is done with it.
///
/// # Errors
/// A file that cannot be written or read, and an editor that fails.
pub fn edit(mirror: &str, before: &Rules, open: impl Fn(&Path) -> Result<()>) -> Result<Edited> {
    let file = tempfile::Builder::new().prefix("kubectl-mirror-").suffix(".yaml").tempfile();
    let file = file.context("cannot make a temporary file")?.into_temp_path();
    let shown = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = format!(
        "# The rules of mirror {mirror}. Lines that begin with # are passed over, and not kept. `{{}}` is no rules at all; an\n\
         # empty file cancels. Where something is wrong, this opens again and says what.\n#\n"
    );
    let mut body = if before.is_empty() { NONE_YET.to_owned() } else { yaml(before)? };
    let (mut heading, mut is_wrong) = (plain.clone(), false);
    loop {
        let offered = format!("{heading}{body}");
        fs::write(&file, &offered).with_context(|| format!("cannot write {}", file.display()))?;
        open(&file)?;
        let saved = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        if saved == offered && is_wrong {
            return Ok(Edited::Mistaken(file));
        }
        if saved == offered {
            return Ok(Edited::Cancelled("no changes made"));
        }
        if saved.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
            return Ok(Edited::Cancelled("saved file was empty"));
        }
        match rules::parse(&shown, &saved) {
            Ok(rules) if rules == *before => return Ok(Edited::Cancelled("no changes made")),
            Ok(rules) => return Ok(Edited::Rules(rules, file)),
            Err(mistake) => {
                body = saved.strip_prefix(heading.as_str()).unwrap_or(&saved).to_owned();
                let with = |said: &str| format!("{plain}{}#\n", commented(said));
                // The heading moves the lines that the mistake names.
                heading = with(&mistake.to_string());
                if let Err(moved) = rules::parse(&shown, &format!("{heading}{body}")) {
                    heading = with(&moved.to_string());
                }
                is_wrong = true;
            }
        }
    }
}

fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

/// Keeps a file whose content would be lost, and says where it is.
pub fn keep(file: TempPath) {
    match file.keep() {
        Ok(path) => message(format_args!("A copy of your changes has been stored to \"{}\"", path.display())),
        Err(error) => message(format_args!("warning: your changes could not be kept: {error}")),
    }
}

/// Opens a file in the user's editor, which may be given with arguments.
///
/// # Errors
/// An editor that cannot be run, or fails.
pub fn in_editor(file: &Path) -> Result<()> {
    let named = |variable| std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("KUBE_EDITOR").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let mut command = Command::new("sh");
    let status = command.args(["-c", &format!("{editor} \"$@\""), "sh"]).arg(file).status();
    let status = status.with_context(|| format!("cannot run the editor `{editor}`"))?;
    if !status.success() {
        bail!("the editor `{editor}` failed ({status}); KUBE_EDITOR or EDITOR names another one");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn before() -> Rules {
        rules::parse("rules.yaml", "ignore: [/at]").expect("good rules")
    }

    /// Edits by what each round makes of the file; also returns what each round was shown.
    fn rounds(before: &Rules, makes: &[fn(String) -> String]) -> (Result<Edited>, Vec<String>) {
        let shown = RefCell::new(Vec::new());
        let open = |file: &Path| {
            let text = fs::read_to_string(file)?;
            let round = shown.borrow().len();
            let make = makes.get(round).context("opened too often")?;
            shown.borrow_mut().push(text.clone());
            Ok(fs::write(file, make(text))?)
        };
        let edited = edit("store/cart", before, open);
        (edited, shown.into_inner())
    }

    #[test]
    fn changed_rules_are_read() {
        let (edited, shown) = rounds(&before(), &[|text| text.replace("/at", "/when")]);
        let Edited::Rules(rules, file) = edited.expect("edited") else { panic!("not changed") };
        assert_eq!(rules.ignore[0].to_string(), "/when");
        assert!(file.exists() && shown[0].ends_with("ignore:\n- /at\n"), "{}", shown[0]);
        let (edited, shown) = rounds(&Rules::default(), &[|text| text + "ignore: [/at]\n"]);
        assert!(matches!(edited.expect("edited"), Edited::Rules(rules, _) if rules == before()));
        assert!(shown[0].contains("There are none yet"));
    }

    #[test]
    fn what_changes_nothing_is_cancelled() {
        for (make, expected) in [
            ((|text| text) as fn(String) -> String, "no changes made"),
            (|text| text + "# a remark\n", "no changes made"),
            (|_| String::new(), "saved file was empty"),
            (|_| "# only a remark\n\n".to_owned(), "saved file was empty"),
        ] {
            let (edited, _) = rounds(&before(), &[make]);
            assert!(matches!(edited, Ok(Edited::Cancelled(why)) if why == expected), "{edited:?}");
        }
        let (edited, _) = rounds(&before(), &[|_| "{}".to_owned()]);
        assert!(matches!(edited, Ok(Edited::Rules(rules, _)) if rules.is_empty()));
    }

    #[test]
    fn mistakes_are_shown_on_top_where_they_stand() {
        let (edited, shown) = rounds(
            &before(),
            &[
                |text| text + "# mine\ntolerance:\n  - path: /p\n",
                |text| text.replace("\n  - path: /p", "\n  - path: p"),
                |text| text.replace("\n  - path: p", "\n  - path: /p\n    absolute: 1"),
            ],
        );
        let Edited::Rules(rules, _) = edited.expect("edited") else { panic!("not changed") };
        assert_eq!(rules.tolerance.len(), 1);
        for (text, what) in [(&shown[1], "`absolute` or `relative` is needed"), (&shown[2], "`p` names no place")] {
            assert!(text.contains(what) && text.contains("# mine\n"), "{text}");
            assert_eq!(text.matches("# The rules of mirror").count(), 1, "{text}");
            // The line that the mistake names is the one that it stands in.
            let named = text.lines().find(|line| line.contains(".yaml:")).expect("a place");
            let number: usize = named.split(':').nth(1).and_then(|number| number.parse().ok()).expect("a line");
            assert!(text.lines().nth(number - 1).is_some_and(|line| line.contains("path:")), "{text}");
        }
    }

    #[test]
    fn mistakes_that_are_left_end_it() {
        let (edited, shown) = rounds(&before(), &[|_| "ignored: []\n".to_owned(), |text| text]);
        assert!(matches!(edited, Ok(Edited::Mistaken(_))), "{edited:?}");
        assert_eq!(shown.len(), 2);
    }
}
