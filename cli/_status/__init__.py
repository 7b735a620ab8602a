"""What commands say of services and series: of fleets, pipelines, bridges, and of frames that are missing."""
