"""Several streams that make one image: the modules of one detector, each with an endpoint of its own.

`joiner` puts together what belongs to one trigger: the `beginning` of a series, the frames that are `waiting`
for a module, and the `ending`. `layout` says where each module sits, `worker` judges every module's blob by
itself, `status` remembers what became of each, and `collector` enters the frame into the account. What a
module stream says is in `penstock.stins.modules`.
"""
