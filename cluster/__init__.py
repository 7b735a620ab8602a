"""What runs the programs on a cluster: the control of a detector's Deployments on Kubernetes."""
