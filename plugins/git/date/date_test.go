package date_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/date"
)

// TestParse has the times that GIT_TEST_DATE_NOW=1700000000 git rev-parse --since=DATE prints.
func TestParse(t *testing.T) {
	now := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC) // 1700000000
	cases := map[string]string{
		"now":                             "2023-11-14T22:13:20Z",
		"today":                           "2023-11-14T22:13:20Z",
		"yesterday":                       "2023-11-13T22:13:20Z",
		"2 weeks ago":                     "2023-10-31T22:13:20Z",
		"3.days.ago":                      "2023-11-11T22:13:20Z",
		"one hour ago":                    "2023-11-14T21:13:20Z",
		"ten minutes ago":                 "2023-11-14T22:03:20Z",
		"90 seconds ago":                  "2023-11-14T22:11:50Z",
		"last month":                      "2023-10-14T22:13:20Z",
		"2 years ago":                     "2021-11-14T22:13:20Z",
		"2020-09-20":                      "2020-09-20T22:13:20Z",
		"Sep 25 2020":                     "2020-09-25T22:13:20Z",
		"25 September 2020":               "2020-09-25T22:13:20Z",
		"2020-09-20T12:00:00":             "2020-09-20T12:00:00Z",
		"2020-09-20 12:00":                "2020-09-20T12:00:00Z",
		"2020/09/20 10:00":                "2020-09-20T10:00:00Z",
		"2020-09-20T12:00:00.123Z":        "2020-09-20T12:00:00Z",
		"2020-09-20T12:00:00+02:00":       "2020-09-20T10:00:00Z",
		"2020-09-20 12:00:00 -0500":       "2020-09-20T17:00:00Z",
		"Mon, 21 Sep 2020 10:00:00 +0000": "2020-09-21T10:00:00Z",
		"20 Sep 2020 10:00:00 GMT":        "2020-09-20T10:00:00Z",
		"1600900000":                      "2020-09-23T22:26:40Z",
		"@1600900000 +0000":               "2020-09-23T22:26:40Z",
	}
	for text, want := range cases {
		got, err := date.Parse(text, now)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, text := range []string{"", " ", "soon", "2020-13-01", "2020-02-30", "99999999999999999999", "-1 days ago", "many days ago",
		"2 fortnights ago", "@", "@x", "2020-09-20T25:00:00", "Jan", "+", "\x00", "2020-09-20 +"} {
		if got, err := date.Parse(text, time.Unix(1700000000, 0)); err == nil || !strings.Contains(err.Error(), "2 weeks ago") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"2 weeks ago", "2020-09-20T12:00:00+02:00", "Mon, 21 Sep 2020 10:00:00 +0000", "@1 +1", "2020.09.20 - 1"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = date.Parse(text, time.Unix(1700000000, 0)) // it must not panic
	})
}
