package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// exception is a check that may fail, because a sentence of the specification contradicts it.
type exception struct {
	Suite    string `json:"suite"` // a name of suites
	Scenario string `json:"scenario"`
	Check    string `json:"check"`    // its id
	Sentence string `json:"sentence"` // of the specification
	Source   string `json:"source"`   // the page that has it
}

func readExceptions(file string) ([]exception, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var all []exception
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, e := range all {
		if e.Suite == "" || e.Scenario == "" || e.Check == "" || e.Sentence == "" || e.Source == "" {
			return nil, fmt.Errorf("%s: exception %d: suite, scenario, check, sentence and source are all required", file, i+1)
		}
	}
	return all, nil
}

// verdict is what came of all suites.
type verdict struct {
	rows     []row
	problems []string
	total    row
}

// row counts the checks of a suite. A check that warns has failed.
type row struct {
	name                             string
	scenarios                        int
	passed, failed, excused, skipped int
	seconds                          float64
}

func judge(results []result, exceptions []exception) verdict {
	var v verdict
	needed := make([]bool, len(exceptions))
	for _, r := range results {
		counts := row{name: r.suite.name, scenarios: len(r.scenarios), seconds: r.seconds}
		for _, s := range r.scenarios {
			for _, c := range s.checks {
				switch c.Status {
				case statusSuccess:
					counts.passed++
				case statusSkipped:
					counts.skipped++
				case statusFailure, statusWarning:
					if excuse(exceptions, needed, r.suite, s, c) {
						counts.excused++
						continue
					}
					counts.failed++
					v.problems = append(v.problems, fmt.Sprintf("%s: %s: %s (%s): %s", r.suite.name, s.name, c.ID, c.Status,
						cmp.Or(c.ErrorMessage, c.Description)))
				}
			}
		}
		if judged := counts.passed + counts.failed + counts.excused; judged < r.suite.checks {
			v.problems = append(v.problems, fmt.Sprintf("%s: only %d checks gave a result, of %d: a scenario could not test what it is for (see -v)", r.suite.name, judged, r.suite.checks))
		}
		v.rows = append(v.rows, counts)
		v.total.add(counts)
	}
	for i, e := range exceptions {
		if !needed[i] {
			v.problems = append(v.problems, fmt.Sprintf("%s: %s: %s: the exception is no longer needed: remove it from exceptions.json", e.Suite, e.Scenario, e.Check))
		}
	}
	return v
}

// excuse reports whether an exception covers a check, and marks it as needed.
func excuse(exceptions []exception, needed []bool, in suite, s scenario, c check) bool {
	for i, e := range exceptions {
		if e.Suite == in.name && e.Scenario == s.name && e.Check == c.ID {
			needed[i] = true
			return true
		}
	}
	return false
}

func (r *row) add(other row) {
	r.scenarios += other.scenarios
	r.passed += other.passed
	r.failed += other.failed
	r.excused += other.excused
	r.skipped += other.skipped
	r.seconds += other.seconds
}

func (v *verdict) print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nconformance suite\tscenarios\tpassed\tfailed\texcepted\tskipped\tseconds")
	for _, r := range v.rows {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%.0f\n", r.name, r.scenarios, r.passed, r.failed, r.excused, r.skipped, r.seconds)
	}
	_ = table.Flush() // an output that is gone has no reader
	for _, problem := range v.problems {
		fmt.Fprintln(out, problem)
	}
}

// line sums up all suites.
func (v *verdict) line() string {
	return fmt.Sprintf("%d of %d checks of %d suites passed, with %d exceptions", v.total.passed, v.total.passed+v.total.failed+v.total.excused, len(v.rows), v.total.excused)
}

func (v *verdict) err() error {
	if len(v.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d problems, of which %d are checks that failed", len(v.problems), v.total.failed)
}
