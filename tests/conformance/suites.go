package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// suite is one run of a package of package.json.
type suite struct {
	name    string // in the table, and in exceptions.json
	pkg     string
	options []string
	checks  int // that give a result; fewer mean that a scenario could not test what it is for
	hooked  int // those of endsStream
	// extensions are scenarios of extensions of MCP, which belong to no version and run one by one; nil: options select the scenarios.
	extensions []string
	table      string // further lines of the plugin's table in the config, of a server for this suite only
}

var suites = []suite{
	{"0.1.16 all", "conformance-0.1", []string{"--suite", "all"}, 46, 3, nil, ""},
	{"0.2.0-alpha.12 requirements 2025-11-25", "conformance-0.2", []string{"--requirements", "2025-11-25"}, 83, 3, nil, ""},
	{"0.2.0-alpha.12 requirements 2026-07-28", "conformance-0.2", []string{"--requirements", "2026-07-28"}, 196, 0, nil, ""},
	{"0.2.0-alpha.12 all 2025-11-25", "conformance-0.2", []string{"--suite", "all", "--spec-version", "2025-11-25"}, 83, 3, nil, ""},
	{"0.2.0-alpha.12 all 2026-07-28", "conformance-0.2", []string{"--suite", "all", "--spec-version", "2026-07-28"}, 152, 0, nil, ""},
	{"0.2.0-alpha.12 skills", "conformance-0.2", nil, 45, 0, skillScenarios, ""},
	// The scenarios look at the first skill of the list.
	{"0.2.0-alpha.12 skills of the project", "conformance-0.2", nil, 45, 0, skillScenarios, "deny_resources = [\"skill://everything/*\"]\n"},
}

// skillScenarios are those of the extension io.modelcontextprotocol/skills.
var skillScenarios = []string{"sep-2640-skills-enumeration", "sep-2640-skills-directory", "sep-2640-skills-manifest"}

// runs returns the options of each run of the suite's program.
func (s suite) runs() [][]string {
	if s.extensions == nil {
		return [][]string{s.options}
	}
	var all [][]string
	for _, scenario := range s.extensions {
		all = append(all, append([]string{"--scenario", scenario}, s.options...))
	}
	return all
}

// result has the checks of one suite, sorted by scenario.
type result struct {
	suite     suite
	scenarios []scenario
	seconds   float64
}

type scenario struct {
	name   string
	checks []check
}

// check is an element of the file checks.json that a suite writes for each scenario.
type check struct {
	ID, Name, Description, Status, ErrorMessage string
}

// The values of check.Status that count; any other, such as INFO, does not.
const (
	statusSuccess = "SUCCESS"
	statusFailure = "FAILURE"
	statusWarning = "WARNING"
	statusSkipped = "SKIPPED"
)

// suiteTime bounds the time of one suite.
const suiteTime = 5 * time.Minute

// runSuite runs a suite and reads its checks. That the suite's exit code reports failed checks is no error.
func (c *command) runSuite(ctx context.Context, s suite, url string, log io.Writer) (result, error) {
	dir, err := os.MkdirTemp("", "conformance-results-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	var output []byte
	for _, options := range s.runs() {
		printed, err := c.call(ctx, s.pkg, options, url, dir, log)
		if err != nil {
			return result{}, fmt.Errorf("%s: %w", s.name, err)
		}
		output = append(output, printed...)
	}
	scenarios, err := readChecks(dir)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", s.name, err)
	}
	if len(scenarios) == 0 {
		return result{}, fmt.Errorf("%s: the suite ran no scenario: %s", s.name, bytes.TrimSpace(output))
	}
	return result{s, scenarios, time.Since(began).Seconds()}, nil
}

// call runs the program of a package with the results in dir, and returns what it printed.
func (c *command) call(ctx context.Context, pkg string, options []string, url, dir string, log io.Writer) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, suiteTime)
	defer cancel()
	program := filepath.Join(c.modules, pkg, "dist", "index.js")
	cmd := exec.CommandContext(ctx, c.node, slices.Concat([]string{program, "server", "--url", url, "--output-dir", dir}, options)...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&output, log), io.MultiWriter(&output, log)
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
		err = nil
	}
	return output.Bytes(), err
}

// commandOutput runs a program and returns what it printed.
func commandOutput(ctx context.Context, program string, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, program, args...).CombinedOutput()
}

// resultDir is the name of the directory of a scenario: its name between a prefix and the time.
var resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

func readChecks(dir string) ([]scenario, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	var all []scenario
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if match := resultDir.FindStringSubmatch(name); match != nil {
			name = match[1]
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		one := scenario{name: name}
		if err := json.Unmarshal(raw, &one.checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, one)
	}
	return all, nil
}
