"""What to tell a person: circumstances, hints, and the playbook."""
