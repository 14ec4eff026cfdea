//go:build unix

package tests

import (
	"bufio"
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every worker runs the program's own executable, so package inits add to the start time of each worker.

// expensive has packages that the program must not link. Their inits, with those of their imports, take longer than all
// others together.
var expensive = []string{
	"github.com/santhosh-tekuri/jsonschema",
	"github.com/mark3labs/mcp-go/client",
	"github.com/mark3labs/mcp-go/server",
}

func TestProgramLinksNoPackageWithAnExpensiveInit(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "../cmd/bulkhead").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"/internal/protocol/gateway") {
		t.Fatalf("the list of %d packages lacks internal/protocol/gateway", len(linked))
	}
	for _, pkg := range linked {
		for _, path := range expensive {
			if strings.HasPrefix(pkg, path) {
				t.Errorf("cmd/bulkhead links %s", pkg)
			}
		}
	}
}

// initLine matches a line of GODEBUG=inittrace=1.
var initLine = regexp.MustCompile(`^init (\S+) @.* (\d+) allocs$`)

// TestPackageInitsAllocateLittle counts allocations as a proxy for time, since they are the same in every run.
func TestPackageInitsAllocateLittle(t *testing.T) {
	t.Parallel()
	const most, mostOfAll = 1_000, 3_000
	cmd := exec.Command(built.program(t), "--version")
	cmd.Env = environment(t, "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	packages, sum := 0, 0
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		found := initLine.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		allocs, err := strconv.Atoi(found[2])
		if err != nil {
			t.Fatal(err)
		}
		packages, sum = packages+1, sum+allocs
		if allocs > most {
			t.Errorf("the init of %s makes %d allocations, want at most %d: defer the work (sync.OnceValue) or do not link the package", found[1], allocs, most)
		}
	}
	if packages < 50 {
		t.Fatalf("only %d inits are traced", packages)
	}
	if sum > mostOfAll {
		t.Errorf("package inits make %d allocations, want at most %d", sum, mostOfAll)
	}
}
