package clock_test

import (
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/time/clock"
	"github.com/bulkhead-mcp/bulkhead/plugins/time/zone"
)

const step = 15 * time.Minute // every clock change of these years is at a multiple of it

// TestConvertReturnsFirstTimeThatTheClockShows converts times of days on which clocks change. It compares them with the
// first time at which a clock that runs through the day shows them.
func TestConvertReturnsFirstTimeThatTheClockShows(t *testing.T) {
	utc := clock.Zone{Name: "UTC", Location: time.UTC}
	skipped, repeated := 0, 0
	for _, name := range []string{
		"Africa/Cairo", "Africa/Casablanca", "America/Havana", "America/New_York", "America/Nuuk", "America/Santiago", "America/St_Johns", "Antarctica/Troll",
		"Asia/Beirut", "Atlantic/Azores", "Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Europe/London", "Pacific/Chatham",
	} {
		location, err := zone.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, location)
		for range 4 {
			_, change := now.ZoneBounds()
			day := time.Date(change.Year(), change.Month(), change.Day(), 12, 0, 0, 0, location)
			first := map[string]time.Time{} // by what the clock shows
			for at := change.Add(-30 * time.Hour); at.Before(change.Add(30 * time.Hour)); at = at.Add(step) {
				shown := at.In(location).Format("2006-01-02T15:04")
				if _, again := first[shown]; again {
					repeated++
				} else {
					first[shown] = at
				}
			}
			for minute := time.Duration(0); minute < 24*time.Hour; minute += step {
				text := time.Time{}.Add(minute).Format("15:04")
				got, err := clock.Convert(day, clock.Zone{Name: name, Location: location}, text, utc)
				want, exists := first[day.Format("2006-01-02T")+text]
				switch {
				case !exists && err == nil:
					t.Errorf("%s, %s: %s does not exist, got %+v", name, day, text, got)
				case !exists:
					skipped++
				case err != nil || got.Target.Datetime != want.UTC().Format("2006-01-02T15:04:05-07:00"):
					t.Errorf("%s, %s: %s: got %+v, %v, want %s", name, day, text, got, err, want.UTC())
				}
			}
			now = change.Add(time.Hour)
		}
	}
	if skipped < 50 || repeated < 50 {
		t.Errorf("%d times were skipped and %d repeated", skipped, repeated)
	}
}
