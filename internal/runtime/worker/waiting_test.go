package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitIsReportedAtIntervalsUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		time.AfterFunc(3*waitingInterval+waitingInterval/2, func() { close(done) })
		reports := 0
		waitReporting(t.Context(), done, func() { reports++ })
		if reports != 3 {
			t.Errorf("got %d reports in a wait of 3.5 intervals, want 3", reports)
		}
	})
}

func TestShortOrCancelledWaitIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), waitingInterval/2)
		defer cancel()
		waitReporting(ctx, nil, func() { t.Error("a wait of half an interval was reported") })
		waitReporting(ctx, nil, nil)
	})
}
