package platform

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// JobLimits are the limits of a Job. A limit of 0 is not set.
type JobLimits struct {
	Memory    uint64 // bytes of memory that each process may commit
	Processes uint32 // number of processes at the same time
	CPU       int64  // user-mode processor time of each process, in units of 100 ns
}

// Job is a group of processes, which a job object of Windows limits and ends.
type Job struct{ handle windows.Handle }

// NewJob returns a job without processes. When the job is closed, its processes end, and all processes that they have started.
func NewJob(l JobLimits) (*Job, error) {
	return createJob(l, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
}

// ConfineInJob puts this process into a job of its own, which the process cannot leave. The limits of jobs that contain the process
// already stay in force.
func ConfineInJob(l JobLimits) error {
	j, err := createJob(l, windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION)
	if err != nil {
		return err
	}
	defer j.Close() // the job lasts as long as its processes, and without a handle no limit can be changed
	return windows.AssignProcessToJobObject(j.handle, windows.CurrentProcess())
}

func createJob(l JobLimits, flags uint32) (*Job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if l.Memory > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		info.ProcessMemoryLimit = uintptr(l.Memory)
	}
	if l.Processes > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = l.Processes
	}
	if l.CPU > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		info.BasicLimitInformation.PerProcessUserTimeLimit = l.CPU
	}
	info.BasicLimitInformation.LimitFlags = flags
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(handle)
		return nil, err
	}
	return &Job{handle}, nil
}

// Add puts a process into the job.
func (j *Job) Add(pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(j.handle, process)
}

// Kill ends the processes of the job.
func (j *Job) Kill() error { return windows.TerminateJobObject(j.handle, 1) }

// Close releases the job.
func (j *Job) Close() error { return windows.CloseHandle(j.handle) }
