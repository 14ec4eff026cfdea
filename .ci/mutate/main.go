// Command mutate changes one decision of a package at a time and runs tests: a change that no test notices is a promise that no test
// pins. It changes no file of the checkout: the go command compiles the changed copy in place of the file (-overlay).
//
//	go run ./.ci/mutate [-every N] [-from K] [-only TEXT] [-tests PACKAGES] [-limit TIME] PACKAGE... [-- FLAGS OF go test]
//
// What survives for a good reason is listed in .ci/mutate/accepted, one line for each change, with the reason; other survivors are
// printed, and make the exit code 1.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// outcome is what became of one mutant.
type outcome int

const (
	killed outcome = iota
	survived
	hung    // the tests did not end: noticed, but by their time limit only
	invalid // does not compile
	accepted
)

var outcomeNames = [...]string{"killed", "SURVIVED", "hung", "invalid", "accepted"}

// acceptedFile is relative to the module's root.
const acceptedFile = ".ci/mutate/accepted"

func main() {
	every := flag.Int("every", 1, "try each `N`th mutant only")
	from := flag.Int("from", 0, "start at mutant `K`, so that a second sample differs from the first")
	only := flag.String("only", "", "try only mutants whose line in the report contains `TEXT`")
	tests := flag.String("tests", "", "run the tests of these `PACKAGES`, separated by commas, too")
	list := flag.Bool("list", false, "print the mutants, run nothing")
	parallel := flag.Int("parallel", 2, "how many mutants are tested at once")
	limit := flag.Duration("limit", 20*time.Second, "the least `TIME` after which tests hang: raise it if the machine is busy, since that counts as noticed")
	flag.Parse()
	packages, testFlags := flag.Args(), []string(nil)
	if i := slices.Index(packages, "--"); i >= 0 {
		packages, testFlags = packages[:i], packages[i+1:]
	}
	if len(packages) == 0 || *every < 1 || *from < 0 || *parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	survivors, err := run(packages, selection{every: *every, from: *from, only: *only}, testRun{splitList(*tests), testFlags, *parallel, *limit}, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// selection is a sample of a package's mutants.
type selection struct {
	every, from int
	only        string
}

func (s selection) of(all []mutant) []mutant {
	var selected []mutant
	for i := s.from; i < len(all); i += s.every {
		if strings.Contains(all[i].String(), s.only) {
			selected = append(selected, all[i])
		}
	}
	return selected
}

// run tests the mutants of the packages and returns how many survived that are not accepted.
func run(packages []string, chosen selection, tests testRun, listOnly bool) (int, error) {
	reasons, err := readAccepted(acceptedFile)
	if err != nil {
		return 0, err
	}
	listed, err := listPackages(packages)
	if err != nil {
		return 0, err
	}
	total := [len(outcomeNames)]int{}
	for _, p := range listed {
		mutants, err := mutantsOf(p)
		if err != nil {
			return 0, err
		}
		selected := chosen.of(mutants)
		if listOnly {
			for _, m := range selected {
				fmt.Println(m)
			}
			continue
		}
		counts, err := tests.run(p.ImportPath, selected, reasons)
		if err != nil {
			return 0, err
		}
		fmt.Printf("%s: %d of %d mutants: %s\n", p.ImportPath, len(selected), len(mutants), summary(counts))
		for i, n := range counts {
			total[i] += n
		}
	}
	if !listOnly && len(listed) > 1 {
		fmt.Println("all:", summary(total))
	}
	return total[survived], nil
}

func summary(counts [len(outcomeNames)]int) string {
	noticed, valid := counts[killed]+counts[hung], counts[killed]+counts[hung]+counts[survived]
	text := fmt.Sprintf("%d killed, %d hung, %d survived, %d accepted, %d invalid", counts[killed], counts[hung], counts[survived], counts[accepted], counts[invalid])
	if valid > 0 {
		text += fmt.Sprintf("; %.1f %% of those that are not accepted are noticed", 100*float64(noticed)/float64(valid))
	}
	return text
}

// readAccepted reads lines "mutant | reason", where the mutant is printed as in the report, without its line number.
func readAccepted(name string) (map[string]string, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: run this in the root of the module", err)
	} else if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for i, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndex(line, " | ")
		if cut < 0 || strings.TrimSpace(line[cut+3:]) == "" {
			return nil, fmt.Errorf("%s:%d: no reason after \" | \"", name, i+1)
		}
		reasons[strings.TrimSpace(line[:cut])] = strings.TrimSpace(line[cut+3:])
	}
	return reasons, nil
}

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	Dir, ImportPath   string
	GoFiles, CgoFiles []string
}

func listPackages(patterns []string) ([]goPackage, error) {
	var message strings.Builder
	list := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,CgoFiles"}, patterns...)...)
	list.Stderr = &message
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, message.String())
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// testRun is how mutants are tested.
type testRun struct {
	packages []string // beside the mutated one
	flags    []string // of go test
	parallel int
	limit    time.Duration // the least limit of their time
}

// run tests mutants of one package.
func (t testRun) run(path string, mutants []mutant, reasons map[string]string) (counts [len(outcomeNames)]int, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return counts, err
	}
	defer os.RemoveAll(dir)
	// The limit follows the unchanged tests, which have to pass and whose build is in the cache from then on.
	start := time.Now()
	if result, output := t.test(path, "", 10*time.Minute); result != survived {
		return counts, fmt.Errorf("the unchanged tests of %s fail:\n%s", path, output)
	}
	limit := max(t.limit, 3*time.Since(start))
	var (
		waiting = make(chan mutant)
		workers sync.WaitGroup
		mutex   sync.Mutex
	)
	for worker := range t.parallel {
		workers.Go(func() {
			own := filepath.Join(dir, fmt.Sprint(worker))
			for m := range waiting {
				result, reason := accepted, reasons[m.key()]
				if reason == "" {
					result = t.mutated(own, path, m, limit)
				}
				mutex.Lock()
				counts[result]++
				if result == survived || result == hung {
					fmt.Printf("%-8s %s\n", outcomeNames[result], m)
				}
				mutex.Unlock()
			}
		})
	}
	for _, m := range mutants {
		waiting <- m
	}
	close(waiting)
	workers.Wait()
	return counts, nil
}

// mutated tests one mutant. Its files are in the worker's own directory.
func (t testRun) mutated(dir, path string, m mutant, limit time.Duration) outcome {
	file, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: file}})
	for _, err := range []error{err, os.MkdirAll(dir, 0o700), os.WriteFile(file, m.source(), 0o600), os.WriteFile(overlay, replace, 0o600)} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(2)
		}
	}
	result, _ := t.test(path, overlay, limit)
	return result
}

// test runs the tests, with an overlay unless it is "". They survive if all pass.
func (t testRun) test(path, overlay string, limit time.Duration) (outcome, string) {
	arguments := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=" + limit.String()}
	if overlay != "" {
		arguments = append(arguments, "-overlay="+overlay)
	}
	arguments = append(append(append(arguments, t.flags...), path), t.packages...)
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit) // compiling counts, too
	defer cancel()
	command := exec.CommandContext(ctx, "go", arguments...)
	// A group of its own, so that what the tests started ends with them.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	text := string(output)
	switch {
	case err == nil:
		return survived, text
	case ctx.Err() != nil || strings.Contains(text, "panic: test timed out"):
		return hung, text
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return invalid, text
	}
	return killed, text
}

// lineOf returns the number of the line at an offset, from 1, and its text.
func lineOf(source []byte, offset int) (int, string) {
	number := 0
	for lines := bufio.NewScanner(strings.NewReader(string(source))); lines.Scan(); {
		number++
		if offset -= len(lines.Bytes()) + 1; offset < 0 {
			return number, strings.TrimSpace(lines.Text())
		}
	}
	return number, ""
}
