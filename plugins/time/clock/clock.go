// Package clock tells the time in zones, and converts times of the current day between them. Start with Read and
// Convert.
package clock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Zone is a time zone with the name by which it was requested.
type Zone struct {
	Name     string
	Location *time.Location
}

// Reading is what a clock in a zone shows.
type Reading struct {
	Timezone  string `json:"timezone"`
	Datetime  string `json:"datetime"`
	DayOfWeek string `json:"day_of_week"`
	IsDST     bool   `json:"is_dst"`
}

// Conversion is one time in two zones.
type Conversion struct {
	Source         Reading `json:"source"`
	Target         Reading `json:"target"`
	TimeDifference string  `json:"time_difference"`
}

// Read returns what a clock in a zone shows at the time t.
func Read(t time.Time, z Zone) Reading {
	t = t.In(z.Location)
	return Reading{z.Name, t.Format("2006-01-02T15:04:05-07:00"), t.Weekday().String(), t.IsDST()}
}

// Convert converts the time of day text ("15:04") in the source zone, on the day that it is there now, to the target
// zone. A time that occurs twice, because clocks are set back, is the first of the two.
func Convert(now time.Time, source Zone, text string, target Zone) (Conversion, error) {
	hour, minute, ok := parse(text)
	if !ok {
		return Conversion{}, errors.New("Invalid time format. Expected HH:MM [24-hour format]") //lint:ignore ST1005 the text of the reference server
	}
	year, month, day := now.In(source.Location).Date()
	t := time.Date(year, month, day, hour, minute, 0, 0, source.Location)
	if wall := time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Format(time.DateTime); t.Format(time.DateTime) != wall {
		//lint:ignore ST1005 the text of the reference server
		return Conversion{}, fmt.Errorf("Invalid time: %s does not exist in %s on %s (skipped by a clock change)", text, source.Name, wall[:len(time.DateOnly)])
	}
	t = first(t)
	_, sourceOffset := t.Zone()
	_, targetOffset := t.In(target.Location).Zone()
	return Conversion{Read(t, source), Read(t, target), difference(targetOffset - sourceOffset)}, nil
}

// first returns the first time at which a clock in the zone of t shows what it shows at t. time.Date may return either.
func first(t time.Time) time.Time {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, before := start.Add(-time.Second).Zone()
	_, after := t.Zone()
	if earlier := t.Add(time.Duration(after-before) * time.Second); earlier.Before(start) {
		return earlier
	}
	return t
}

// parse parses a time of day. Hour and minute have one or two digits.
func parse(text string) (hour, minute int, ok bool) {
	first, second, found := strings.Cut(text, ":")
	hour, hourOK := number(first, 24)
	minute, minuteOK := number(second, 60)
	return hour, minute, found && hourOK && minuteOK
}

func number(digits string, bound int) (n int, ok bool) {
	value, err := strconv.ParseUint(digits, 10, 8) // refuses signs
	return int(value), err == nil && len(digits) <= 2 && int(value) < bound
}

// difference formats an offset in seconds as hours.
func difference(seconds int) string {
	if seconds%3600 == 0 {
		return fmt.Sprintf("%+.1fh", float64(seconds)/3600)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%+.2f", float64(seconds)/3600), "0"), ".") + "h"
}
