package guide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Shell runs the commands of a page one after the other, as in one shell: a command has the working directory and the exported variables
// with the prefix BULKHEAD_ that earlier commands set. The home directory of the pages, /home/me, is below Root.
type Shell struct {
	Root string
	Env  []string
	Vary []Mask
}

// Mask replaces a detail of the output that varies from run to run.
type Mask struct {
	Pattern *regexp.Regexp
	By      string
}

var masks = []Mask{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<sha256>"},
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT[0-9:.]+Z `), ""},
	{regexp.MustCompile(`(?m)^(starting plugin|compiling the module of plugin) .*\n`), ""}, // reported when it takes long
	{regexp.MustCompile(`(?m)^(ok  \t\S+)\t.*`), "$1\t0.01s"},
	{regexp.MustCompile(`[0-9.]+ MB in [0-9.]+s`), "3.8 MB in 1.2s"},
	{regexp.MustCompile(`(?m)^  size = [0-9]+$`), "  size = 3800000"},
	{regexp.MustCompile(`(?m), [0-9.]+ MB$`), ", 3.8 MB"},
	{regexp.MustCompile(`(?m)^((?:ok|failed) .*) \([0-9.]+m?s\)$`), "$1 (60ms)"},
	{regexp.MustCompile(`-[0-9a-f]{16}\.tmp`), "-….tmp"},
	{regexp.MustCompile(`0x[0-9a-f]{2,}`), "0x…"},
	{regexp.MustCompile(`\bRW[A-Za-z0-9+/]{54}`), "<public key>"},
	{regexp.MustCompile(`>, [0-9]+ bytes`), ">, 3800000 bytes"},
}

var home = regexp.MustCompile(`(^|[ "'=])/home/me/`)

// Rooted returns a text in which paths below the home directory of the pages are replaced by paths below the root.
func (s Shell) Rooted(text string) string {
	return home.ReplaceAllString(text, "${1}"+s.Root+"/home/me/")
}

// Path returns the path below the root for a path of the pages.
func (s Shell) Path(path string) string { return filepath.Join(s.Root, path) }

// Run runs a command line, and returns its output with the paths of the pages and with masked details. If the command fails, the output
// ends with its exit code.
func (s Shell) Run(ctx context.Context, line string) (string, error) {
	state := filepath.Join(s.Root, "state.sh")
	script := fmt.Sprintf("[ ! -e %[1]s ] || . %[1]s\n%[2]s\ncode=$?\n{ export -p | grep BULKHEAD_; echo cd \"$PWD\"; } >%[1]s\nexit $code\n", state, s.Rooted(line))
	c := exec.CommandContext(ctx, "sh", "-c", script)
	c.Dir, c.Env = s.Root, s.Env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	text := strings.ReplaceAll(out.String(), s.Root, "")
	for _, m := range append(masks, s.Vary...) {
		text = m.Pattern.ReplaceAllString(text, m.By)
	}
	if exit != nil {
		text += fmt.Sprintf("%s%d\n", exitCode, exit.ExitCode())
	}
	return strings.TrimRight(text, "\n"), nil
}

const exitCode = "exit code "

// Failed reports whether the output of a command ends with its exit code.
func (c Command) Failed() bool { return strings.Contains("\n"+c.Output, "\n"+exitCode) }
