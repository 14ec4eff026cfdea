package main

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var sample = figures{stateless: time.Millisecond, read: 2 * time.Millisecond, write: 3 * time.Millisecond, first: 100 * time.Millisecond, oneWrite: 2 * time.Millisecond,
	base: 30 << 20, session: 50 << 10, project: 100 << 10, worker: 30 << 20, credit: 60 << 20}

const output = `BenchmarkCapacity/calls-2 1 10000 stateless-cpu-µs 20000 read-cpu-µs 30000 write-cpu-µs 20000 write-of-one-project-µs
BenchmarkCapacity/memory-2 1 30 base-MiB 50 session-KiB 100 project-KiB 30 worker-MiB 60 credit-MiB 100000 first-call-cpu-µs
`

func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "capacity.md")
	if err := os.WriteFile(page, []byte(begin+"\n"+end+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(strings.ReplaceAll(output, "50 session-KiB", "")), io.Discard, page); err == nil || !strings.Contains(err.Error(), "session-KiB") {
		t.Errorf("a missing figure: %v", err)
	}
	if f, err := figuresOf(nil); err == nil {
		t.Errorf("figures of nothing: %+v", f)
	}
	if testing.Short() {
		t.Skip("the simulation of many sizes takes seconds")
	}
	if err := run(strings.NewReader(output), io.Discard, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 10.0 ms |", "| 100.0 ms |", "| the pod of the manifests | ", "| 4 processors, 2 GiB |", "\n| 100 | 10 | 2 | ", "\n| 300 | 30 | 6 | ", "| 1,000,000 | 100,000 | 20,000 |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
}

// TestPodIsThatOfTheManifests compares the first machine with the manifests.
func TestPodIsThatOfTheManifests(t *testing.T) {
	for file, want := range map[string]string{
		"server/pod.yaml":        fmt.Sprintf("requests: {cpu: %q, ", strconv.Itoa(podProcessors)),
		"shards/a/bulkhead.toml": fmt.Sprintf("memory = \"%dGiB\"", podMemory>>30),
	} {
		text, err := os.ReadFile("../../../docs/deploy/kubernetes/" + file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s: %v", file, want, err)
		}
	}
}

// TestWaitingCallTakesNoProcessor has two calls write one project, of which the second one waits for a minute, and one read another project.
func TestWaitingCallTakesNoProcessor(t *testing.T) {
	slow := sample
	slow.oneWrite = time.Minute
	s := &server{machine: machine{"", 1, 1 << 40, slow}, lanes: make([][pluginsUsed]lane, 2), free: make([]time.Duration, 1)}
	for project, writes := range [][]bool{{true, true}, {false}} {
		for _, w := range writes {
			l := &s.lanes[project][0]
			l.waiting = append(l.waiting, &call{lane: l, arrived: warmUp, writes: w})
			s.begin(warmUp, l)
		}
	}
	for len(s.next) > 0 {
		e := heap.Pop(&s.next).(*event)
		s.goOn(e.at, e.call)
	}
	slices.Sort(s.waits)
	if len(s.waits) != 3 || s.waits[1] > time.Second || s.waits[2] < time.Minute/2 {
		t.Errorf("the calls have waited for %v", s.waits)
	}
}

// TestLegacyEntries compares the bounds that the page computes with.
func TestLegacyEntries(t *testing.T) {
	if n := float64(legacyEntries()); n*streamShare > maxStreams || (n+1)*streamShare <= maxStreams {
		t.Errorf("%.0f entries", n)
	}
}

func TestPopulation(t *testing.T) {
	sizes := population(100_000, rand.New(rand.NewPCG(1, 1)))
	sum, ones := 0, 0
	for _, size := range sizes {
		if sum += size; size == 1 {
			ones++
		}
	}
	if sum != 100_000 || slices.Min(sizes) < 1 || slices.Max(sizes) > largestProject || slices.Max(sizes) < 100 || ones < len(sizes)/2 {
		t.Errorf("%d clients in %d projects, the largest with %d, %d with one", sum, len(sizes), slices.Max(sizes), ones)
	}
}

// TestSimulation compares the simulation with what must hold of any server.
func TestSimulation(t *testing.T) {
	roomy := machine{processors: 4, memory: 1 << 40, figures: sample}
	few := simulate(roomy, slices.Repeat([]int{1}, 100), 1)
	calls := 100 * workingShare / gap.Seconds() * (1 - statelessShare) // a second
	work := (1-writeShare)*sample.read.Seconds() + writeShare*sample.write.Seconds()
	if least := calls * work / 4; few.busy < least*0.7 || few.busy > least*3 {
		t.Errorf("busy for %f of the time, calls alone for %f", few.busy, least)
	}
	if few.workers < 10 || few.workers > 100*pluginsUsed {
		t.Errorf("%+v", few)
	}
	cramped := roomy
	cramped.memory = 4 * sample.credit
	if got := simulate(cramped, slices.Repeat([]int{1}, 100), 1); got.workers > 4+4 || got.starts <= few.starts*2 {
		t.Errorf("with the memory of four workers: %+v; with enough: %+v", got, few)
	}
	slow := roomy
	slow.figures.write = time.Second
	if got := simulate(slow, []int{500}, 1); overload(slow, 1, got) != "calls wait for each other" {
		t.Errorf("one project with slow writes: %+v", got)
	}
	if got := simulate(machine{"", 1, 1 << 40, slow.figures}, []int{1000}, 1); overload(slow, 1, got) != "the processors are busy" {
		t.Errorf("one processor with slow writes: %+v", got)
	}
	if again := simulate(roomy, slices.Repeat([]int{1}, 100), 1); again != few {
		t.Errorf("the same seed: %+v and %+v", again, few)
	}
}
