package approval

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

func TestApprovalIsUsedOnce(t *testing.T) {
	var u Used
	now := time.UnixMilli(1_000_000)
	a := &interaction.Approval{ID: "a", Expires: now.Add(time.Minute).UnixMilli()}
	if err := u.Use(a, "p", now); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Time{now, now.Add(time.Minute - 1), now.Add(time.Hour), now} {
		if err := u.Use(a, "p", later); !errors.Is(err, ErrUsed) {
			t.Errorf("at %v: got %v", later, err)
		}
	}
	fresh := &interaction.Approval{ID: "b", Expires: now.Add(time.Minute).UnixMilli()}
	if err := u.Use(fresh, "p", now); !errors.Is(err, ErrUsed) {
		t.Errorf("an approval that has expired before the clock was set back: got %v", err)
	}
	for range 2 {
		if err := u.Use(&interaction.Approval{}, "p", now); err != nil {
			t.Errorf("an approval that no client keeps: %v", err)
		}
	}
}

func TestRecordOfUsedApprovalsIsBounded(t *testing.T) {
	var u Used
	now := time.UnixMilli(1_000_000)
	use := func(principal string, n int, at time.Time) error {
		return u.Use(&interaction.Approval{ID: fmt.Sprint(principal, n), Expires: at.Add(time.Minute).UnixMilli()}, principal, at)
	}
	for p := range maxUsed / maxUsedPrincipal {
		for n := range maxUsedPrincipal {
			if err := use(fmt.Sprint(p, "-"), n, now); err != nil {
				t.Fatal(err)
			}
		}
		if err := use(fmt.Sprint(p, "-"), -1, now); err == nil || !strings.Contains(err.Error(), "4096 of this account") {
			t.Errorf("principal %d: got %v", p, err)
		}
	}
	if err := use("other", 0, now); err == nil || !strings.Contains(err.Error(), "wait until") {
		t.Errorf("a full record: got %v", err)
	}
	later := now.Add(2 * time.Minute)
	if err := use("0-", -2, later); err != nil {
		t.Errorf("after the approvals have expired: %v", err)
	}
	if len(u.by) != 1 || len(u.counts) != 1 {
		t.Errorf("%d approvals of %d principals are kept, want 1 of 1", len(u.by), len(u.counts))
	}
}
