package tools_test

import (
	"testing"
	"time"
)

// TestLocalZone checks which zone the name local stands for.
func TestLocalZone(t *testing.T) {
	machine := time.Local
	t.Cleanup(func() { time.Local = machine })
	time.Local = time.FixedZone("", 5*3600+45*60)
	host := newHost(t, time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	for _, test := range []struct{ variable, tool, arguments, want string }{
		{"", "get_current_time", `{"timezone":"local"}`, `{"timezone":"local","datetime":"2026-07-01T17:45:00+05:45","day_of_week":"Wednesday","is_dst":false}`},
		{"Europe/Paris", "get_current_time", `{"timezone":"local"}`, `{"timezone":"Europe/Paris","datetime":"2026-07-01T14:00:00+02:00","day_of_week":"Wednesday","is_dst":true}`},
		{"Europe/Paris", "get_current_time", `{"timezone":"Local"}`, ""},
		{"", "convert_time", `{"source_timezone":"local","time":"17:45","target_timezone":"UTC"}`, `{"source":{"timezone":"local","datetime":"2026-07-01T17:45:00+05:45","day_of_week":"Wednesday","is_dst":false},"target":{"timezone":"UTC","datetime":"2026-07-01T12:00:00+00:00","day_of_week":"Wednesday","is_dst":false},"time_difference":"-5.75h"}`},
	} {
		t.Setenv("LOCAL_TIMEZONE", test.variable)
		result, err := host.CallTool(test.tool, test.arguments)
		if err != nil || string(result.Structured) != test.want || result.IsError != (test.want == "") {
			t.Errorf("%+v: got %s, %v", test, result.Raw, err)
		}
	}
	t.Setenv("LOCAL_TIMEZONE", "Europe/Nowhere")
	result, err := host.CallTool("get_current_time", `{"timezone":"local"}`)
	want := "Error executing tool get_current_time: Invalid timezone: the variable LOCAL_TIMEZONE: 'No time zone found with key Europe/Nowhere'"
	if err != nil || !result.IsError || result.Text() != want {
		t.Errorf("got %s, %v, want %s", result.Raw, err, want)
	}
}
