package guard

import (
	"errors"
	"strings"
	"testing"
)

type memoryLog struct{ lines []string }

func (l *memoryLog) Error(text string, args ...any) {
	for _, arg := range args {
		text += " " + arg.(string)
	}
	l.lines = append(l.lines, text)
}

func TestRecover(t *testing.T) {
	own := errors.New("own")
	for _, test := range []struct {
		name string
		do   func() error
		want error
		log  string
	}{
		{"a panic", func() error { panic("bad\nline") }, ErrPanic, `panic while testing panic "bad\nline" stack`},
		{"an error", func() error { return own }, own, ""},
		{"success", func() error { return nil }, nil, ""},
	} {
		var log memoryLog
		run := func() (err error) {
			defer Recover(&log, "while testing", &err)
			return test.do()
		}
		if err := run(); err != test.want {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if got := strings.Join(log.lines, ""); !strings.HasPrefix(got, test.log) || test.log == "" && got != "" {
			t.Errorf("%s: logged %q, want %q", test.name, got, test.log)
		}
	}
}

func TestRecoveredLogsPairs(t *testing.T) {
	var log memoryLog
	if err := Recovered(&log, "while testing", "bad", "name", "a"); err != ErrPanic {
		t.Errorf("got %v, want %v", err, ErrPanic)
	}
	if got, want := strings.Join(log.lines, ""), `panic while testing name a panic "bad" stack`; !strings.HasPrefix(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
