"""What workers do, one file for each kind of job: ``run(task)`` returns the result as JSON and leaves files beside it."""
