package confine

import (
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// setLimits puts the process into a job with the limits of c. A process in this job cannot start processes. The number of
// open files and their size are not limited.
func setLimits(c Config) error {
	err := platform.ConfineInJob(platform.JobLimits{Memory: c.Memory, Processes: 1, CPU: int64(c.CPU / (100 * time.Nanosecond))})
	if err != nil {
		return missingError("the process cannot be put into a job: " + err.Error())
	}
	return nil
}
