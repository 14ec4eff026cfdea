package engine

import (
	"strings"
	"testing"
)

// The state of a reused instance is available to the next call, even if that call begins before the response is sent.
func TestReusedInstanceIsIdleWhenCallReturns(t *testing.T) {
	m := newModule(t, Spec{Reused: true})
	response, err := m.Call(t.Context(), toolRequest("remember", `{"text":"first"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Release()
	if !m.holdsInstance() {
		t.Fatalf("no instance is idle after %s", strings.TrimSpace(string(response.Body)))
	}
}

func TestResponseReportsStartCostAndMemory(t *testing.T) {
	m := newModule(t, Spec{Reused: true})
	response, err := m.Call(t.Context(), toolRequest("remember", `{"text":"first"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Release()
	// The Go runtime initializes its packages, and has a heap of some megabytes.
	if response.StartFuel < 10_000 || response.Memory < m.initialMemory() || response.Memory%pageSize != 0 {
		t.Errorf("got %d instructions and %d bytes of memory", response.StartFuel, response.Memory)
	}
}
